import Testing

/// The unmodified program, daemon and command line, in a world of simulators. One after the other: each laboratory
/// keeps both cores busy on its own.
@Suite(.serialized, .timeLimit(.minutes(4))) struct SystemTests {}

/// Sizes whose last window is short.
let mib = 1 << 20
