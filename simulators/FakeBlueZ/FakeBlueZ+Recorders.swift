package import RecorderModel
internal import SimulatorControl

/// What tests and people do to the recorders.
extension FakeBlueZ: RecorderHost {
    private func known(_ serial: String) throws(RecorderModelError) -> Peripheral {
        guard let peripheral = peripheral(serial) else {
            throw RecorderModelError(.fault, "there is no recorder \(serial)")
        }
        return peripheral
    }

    package var serials: [String] { peripherals.map(\.serial) }

    package func model(of serial: String) throws(RecorderModelError) -> RecorderModel {
        try known(serial).model
    }

    package func deliver(_ outputs: [RecorderOutput], of serial: String) {
        if let peripheral = peripheral(serial) { deliver(outputs, peripheral) }
    }

    package func confirm(_ answer: Bool, on serial: String) throws(RecorderModelError) {
        try known(serial).user.confirm(answer)
    }

    package func loseBonds(of serial: String) throws(RecorderModelError) {
        let peripheral = try known(serial)
        for address in peripheral.model.bonds.keys {
            deliver(peripheral.model.setBond(nil, with: address), peripheral)
        }
        cutLink(serial)
    }

    package func setInRange(_ isInRange: Bool, _ serial: String) throws(RecorderModelError) {
        try known(serial).isInRange = isInRange
        if !isInRange { cutLink(serial) }
    }
}
