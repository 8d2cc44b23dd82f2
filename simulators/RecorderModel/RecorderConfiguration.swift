/// How a recorder and its user pair with a hub.
package enum PairingMethod: String, Sendable, Hashable, CaseIterable {
    /// The recorder shows a number and has a button to confirm it.
    case numericComparison = "numeric"
    /// The recorder shows a number that is entered at the hub.
    case passkeyEntry = "passkey"
    /// The recorder has neither display nor button.
    case justWorks = "just-works"
}

/// What makes one simulated recorder.
package struct RecorderConfiguration: Sendable {
    /// The serial number: the recorder's identity.
    package var serial: String
    package var manufacturer = "Celestia"
    package var model = "Recorder One"
    package var firmware = "1.4.2"
    package var hardware = "C"
    /// In percent.
    package var batteryLevel: UInt8 = 87
    package var totalMiB: UInt32 = 30_436
    package var pairing = PairingMethod.numericComparison
    package var folder: CaptureFolder
    package var state: RecorderState
    package var faults = RecorderFaults()

    /// A recorder that serves `folder`.
    package init(serial: String, folder: CaptureFolder, state: RecorderState = RecorderState()) {
        self.serial = serial
        self.folder = folder
        self.state = state
    }

    /// The security that protected attributes ask for: with a display, pairing must have been authenticated.
    package var requiredSecurity: LinkSecurity { pairing == .justWorks ? .encrypted : .authenticated }
}
