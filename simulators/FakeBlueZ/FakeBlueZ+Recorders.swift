internal import ObjectTransfer
internal import Recorder
package import RecorderModel

/// What tests and people do to the recorders and to their surroundings. A serial number that is empty means the first
/// recorder. Throws `fault` when there is no such recorder.
extension FakeBlueZ {
    private func known(_ serial: String) throws(RecorderModelError) -> Peripheral {
        guard let peripheral = peripheral(serial) else {
            throw RecorderModelError(.fault, "there is no recorder \(serial)")
        }
        return peripheral
    }

    /// Every recorder, by serial number.
    package var serials: [String] { peripherals.map(\.serial) }

    /// Changes one fault; see `RecorderFaults.help`.
    package func apply(fault text: String, to serial: String) throws(RecorderModelError) {
        let peripheral = try known(serial)
        deliver(try peripheral.model.apply(fault: text), peripheral)
    }

    package func clearFaults(of serial: String) throws(RecorderModelError) {
        let peripheral = try known(serial)
        deliver(peripheral.model.clearFaults(), peripheral)
    }

    /// The recorder's user confirms the number on its display, or refuses.
    package func confirm(_ answer: Bool, on serial: String) throws(RecorderModelError) {
        try known(serial).confirm(answer)
    }

    /// The recorder forgets its bonds; the hub keeps its half.
    package func loseBonds(of serial: String) throws(RecorderModelError) {
        let peripheral = try known(serial)
        for address in peripheral.model.bonds.keys {
            deliver(peripheral.model.setBond(nil, with: address), peripheral)
        }
        cutLink(serial)
    }

    /// The recorder formats its storage: a new generation without objects.
    package func format(_ serial: String) throws(RecorderModelError) {
        let peripheral = try known(serial)
        deliver(peripheral.model.format(), peripheral)
    }

    /// The recorder serves what the folder holds now.
    package func rescan(_ serial: String, _ folder: CaptureFolder) throws(RecorderModelError) {
        let peripheral = try known(serial)
        deliver(peripheral.model.rescan(folder), peripheral)
    }

    package func setBattery(_ level: UInt8, of serial: String) throws(RecorderModelError) {
        let peripheral = try known(serial)
        deliver(peripheral.model.setBattery(level), peripheral)
    }

    /// Out of range the link is lost and nothing is heard.
    package func setInRange(_ isInRange: Bool, _ serial: String) throws(RecorderModelError) {
        try known(serial).isInRange = isInRange
        if !isInRange { cutLink(serial) }
    }

    /// Every transfer since the start, in order.
    package func transfers(of serial: String) throws(RecorderModelError) -> [TransferRecord] {
        try known(serial).model.transfers
    }

    /// The objects that were deleted, as twelve hexadecimal digits.
    package func deletedObjects(of serial: String) throws(RecorderModelError) -> [String] {
        try known(serial).model.deletedObjects.map(\.description)
    }

    /// The last clock that a hub wrote: milliseconds and the zone's offset in minutes.
    package func clock(of serial: String) throws(RecorderModelError) -> (
        unixMilliseconds: Int64, zoneOffsetMinutes: Int16
    )? {
        try known(serial).model.clock.map { ($0.unixMilliseconds, $0.zoneOffsetMinutes) }
    }
}
