"""Looking at robots and runs."""
