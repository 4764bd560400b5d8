//! The drawing of a turn: what a batch may hold.
