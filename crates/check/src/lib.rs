//! Proves, from a cubin alone, that the control words of its code cover every dependence.
