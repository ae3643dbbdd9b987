"""The five papers, row by row: what each promises, and what comes out here."""
