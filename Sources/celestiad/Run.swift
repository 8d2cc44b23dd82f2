import Control

/// `celestiad run`: the daemon itself.
enum RunVerb {
    static let verb = Verb(
        name: "run", summary: "Run the daemon.", handlesSignals: true
    ) { _ throws(ControlError) in
        throw ControlError(.failed, "the daemon is not part of this build")
    }
}
