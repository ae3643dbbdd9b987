"""From equations to machine code: trace → Program → LLVM → kernel."""
