//! Whole games: the rules one by one, and what has to hold in any game whatever.

mod random;
mod rules;
mod table;
