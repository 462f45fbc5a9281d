//! One small program for each pattern, in `examples/`.
