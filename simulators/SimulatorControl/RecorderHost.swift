package import EventLoop
internal import ObjectTransfer
internal import Recorder
package import RecorderModel

/// A face of simulated recorders: what joins their models to a Bluetooth stack, and what tests and people do to them.
/// A serial number that is empty means the first recorder.
package protocol RecorderHost: Actor {
    nonisolated var loop: EventLoop { get }
    /// Every recorder, by serial number.
    var serials: [String] { get }
    /// Throws `fault` when there is no such recorder.
    func model(of serial: String) throws(RecorderModelError) -> RecorderModel
    /// Sends what a recorder sends of its own accord.
    func deliver(_ outputs: [RecorderOutput], of serial: String)
    /// The recorder's user confirms the number on its display, or refuses. Throws `fault`.
    func confirm(_ answer: Bool, on serial: String) throws(RecorderModelError)
    /// The recorder drops the link.
    func cutLink(_ serial: String)
    /// Out of range the link is lost and nothing is heard. Throws `fault`.
    func setInRange(_ isInRange: Bool, _ serial: String) async throws(RecorderModelError)
    /// The recorder forgets its bonds; the hub keeps its half. Throws `fault`.
    func loseBonds(of serial: String) async throws(RecorderModelError)
}

/// What is the same for every face. Throws `fault` when there is no such recorder.
extension RecorderHost {
    private func change(
        _ serial: String, _ body: (RecorderModel) throws(RecorderModelError) -> [RecorderOutput]
    ) throws(RecorderModelError) {
        deliver(try body(try model(of: serial)), of: serial)
    }

    /// Changes one fault; see `RecorderFaults.help`.
    package func apply(fault text: String, to serial: String) throws(RecorderModelError) {
        try change(serial) { model throws(RecorderModelError) in try model.apply(fault: text) }
    }

    package func clearFaults(of serial: String) throws(RecorderModelError) {
        try change(serial) { $0.clearFaults() }
    }

    /// The recorder formats its storage: a new generation without objects.
    package func format(_ serial: String) throws(RecorderModelError) {
        try change(serial) { $0.format() }
    }

    /// The recorder serves what the folder holds now.
    package func rescan(_ serial: String, _ folder: CaptureFolder) throws(RecorderModelError) {
        try change(serial) { $0.rescan(folder) }
    }

    /// In percent.
    package func setBattery(_ level: UInt8, of serial: String) throws(RecorderModelError) {
        try change(serial) { $0.setBattery(level) }
    }

    /// Every transfer since the start, in order.
    package func transfers(of serial: String) throws(RecorderModelError) -> [TransferRecord] {
        try model(of: serial).transfers
    }

    /// How many requests the control points took since the start, answered or not.
    package func requestCount(of serial: String) throws(RecorderModelError) -> UInt32 {
        try model(of: serial).requestCount
    }

    /// The objects that were deleted, as twelve hexadecimal digits.
    package func deletedObjects(of serial: String) throws(RecorderModelError) -> [String] {
        try model(of: serial).deletedObjects.map(\.description)
    }

    /// The last clock that a hub wrote: milliseconds and the zone's offset in minutes.
    package func clock(of serial: String) throws(RecorderModelError) -> (
        unixMilliseconds: Int64, zoneOffsetMinutes: Int16
    )? {
        try model(of: serial).clock.map { ($0.unixMilliseconds, $0.zoneOffsetMinutes) }
    }
}
