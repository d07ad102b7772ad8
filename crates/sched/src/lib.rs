//! Instruction scheduling and control words.
