import ObjectTransfer
import Recorder
import RecorderModel
import Testing

@Suite struct AttributeTests {
    @Test(arguments: [
        (LinkSecurity.open, PairingMethod.numericComparison, ATTError.insufficientEncryption as ATTError?),
        (.encrypted, .numericComparison, .insufficientAuthentication),
        (.authenticated, .numericComparison, nil),
        (.open, .justWorks, .insufficientEncryption),
        (.encrypted, .justWorks, nil),
        (.authenticated, .justWorks, nil),
    ]) func protectedAttributesAskForThePairingThatTheRecorderCanDo(
        security: LinkSecurity, pairing: PairingMethod, error: ATTError?
    ) throws {
        let bench = try Bench(security: security, pairing: pairing)
        for service in AttributeTable.services {
            for characteristic in service.characteristics {
                let expected = characteristic.isProtected ? error : nil
                let read = failure { () throws(ATTError) in _ = try bench.model.read(characteristic.id) }
                let subscribe = failure { () throws(ATTError) in
                    try bench.model.subscribe(characteristic.id, true)
                }
                if let expected {
                    #expect(read == expected && subscribe == expected, "\(characteristic.id)")
                } else {
                    #expect(read != error || error == nil, "\(characteristic.id)")
                }
            }
        }
    }

    private func failure(_ body: () throws(ATTError) -> Void) -> ATTError? {
        do throws(ATTError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test func identityAndBatteryAreOpen() throws {
        let bench = try Bench(security: .open)
        let values: [(GATTCharacteristicID, [UInt8])] = [
            (RecorderProfile.serialNumber, Array("T-1".utf8)),
            (RecorderProfile.firmwareRevision, Array("1.4.2".utf8)),
            (RecorderProfile.batteryLevel, [87]),
        ]
        for (id, value) in values { #expect(try bench.model.read(id) == value) }
        #expect(throws: ATTError.writeNotPermitted) {
            try bench.model.write([1], to: RecorderProfile.batteryLevel)
        }
    }

    @Test func theClockIsCheckedAndKept() throws {
        let bench = try Bench()
        #expect(bench.model.status.flags.contains(.clockNotSet))
        let good = ClockValue(unixMilliseconds: 1_795_000_000_000, zoneOffsetMinutes: 60)
        let bad: [([UInt8], ATTError)] = [
            ([], .invalidLength), (Array(good.wire.dropLast()), .invalidLength),
            (good.wire + [0], .invalidLength),
            (ClockValue(unixMilliseconds: 5, zoneOffsetMinutes: 0).wire, .outOfRange),
            (ClockValue(unixMilliseconds: 1_795_000_000_000, zoneOffsetMinutes: 900).wire, .outOfRange),
        ]
        for (bytes, error) in bad {
            #expect(throws: error) { try bench.model.write(bytes, to: RecorderProfile.clock) }
        }
        #expect(bench.model.clock == nil)
        _ = try bench.model.write(good.wire, to: RecorderProfile.clock)
        #expect(bench.model.clock == good)
        #expect(!bench.model.status.flags.contains(.clockNotSet))
    }

    @Test func controlPointsNeedASubscription() throws {
        let bench = try Bench(subscribed: false)
        let writes: [(GATTCharacteristicID, [UInt8])] = [
            (ObjectTransferService.actionControlPoint, [0x02]),
            (ObjectTransferService.listControlPoint, [0x01]),
            (RecorderProfile.objectDataControl, [0x03]),
        ]
        for (id, bytes) in writes {
            #expect(throws: ATTError.subscriptionMissing) { try bench.model.write(bytes, to: id) }
        }
    }

    @Test func subscribersHearOfStatusAndBattery() throws {
        let bench = try Bench()
        #expect(bench.model.setBattery(50).isEmpty)
        try bench.model.subscribe(RecorderProfile.batteryLevel, true)
        try bench.model.subscribe(RecorderProfile.captureStatus, true)
        #expect(bench.model.setBattery(40) == [.notify(RecorderProfile.batteryLevel, [40])])
        let outputs = try bench.model.apply(fault: "recording")
        #expect(outputs == [.notify(RecorderProfile.captureStatus, bench.model.status.wire)])
        #expect(bench.model.status.flags.contains(.recording))
    }
}
