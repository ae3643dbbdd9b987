"""Programs on the GPU: CUDA through NVRTC, one thread for each state."""
