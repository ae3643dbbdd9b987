"""Motions through sequences of contact sets: postures, transitions, the state machine, the multi-contact strategy."""
