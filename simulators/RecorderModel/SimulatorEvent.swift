/// What a face of simulated recorders tells its owner; called on the event loop.
package enum SimulatorEvent: Sendable, Hashable {
    /// The recorder's display shows the number.
    case displayed(serial: String, passkey: String)
    /// The recorder has a new bond.
    case paired(serial: String)
    case connected(serial: String)
    case disconnected(serial: String)
    /// The recorder's lasting state changed.
    case stateChanged(serial: String, RecorderState)
}
