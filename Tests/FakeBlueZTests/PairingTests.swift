import DBus
import FakeBlueZ
import Recorder
import RecorderModel
import Testing

@Suite(.timeLimit(.minutes(5))) struct PairingTests {
    @Test(arguments: [
        (PairingMethod.numericComparison, "DisplayYesNo", "RequestConfirmation", true),
        (.numericComparison, "KeyboardDisplay", "RequestConfirmation", true),
        (.numericComparison, "KeyboardOnly", "RequestPasskey", true),
        (.passkeyEntry, "KeyboardDisplay", "RequestPasskey", true),
        // Without a way to compare, the bond is not authenticated, and the recorder wants better.
        (.numericComparison, "NoInputNoOutput", "", false),
        (.passkeyEntry, "DisplayOnly", "", false),
        (.justWorks, "KeyboardDisplay", "", true),
    ]) func eachPairOfAbilitiesHasItsWay(
        pairing: PairingMethod, capability: String, question: String, isEnough: Bool
    ) async throws {
        try await Hub.run { configuration in
            configuration.peripherals[0].recorder.pairing = pairing
            configuration.peripherals[0].passkey = 123
        } _: { hub in
            try await hub.discover()
            try await hub.registerAgent(capability) { call throws(DBusError) in
                #expect(call.member == question)
                #expect(call.arguments.first == .objectPath(Hub.device))
                guard call.member == "RequestPasskey" else {
                    #expect(call.arguments.last == .uint32(123))
                    return []
                }
                return [.uint32(123)]
            }
            try await hub.call(Hub.device, "Device1", "Pair")
            try await hub.wait(for: Hub.device, "Device1", "ServicesResolved", .boolean(true))
            #expect(try await hub.property(Hub.device, "Device1", "Bonded") == .boolean(true))
            let status = try await hub.path(of: RecorderProfile.captureStatus)
            let read = await hub.failure(status, "GattCharacteristic1", "ReadValue", [.properties([:])])
            #expect(read == (isEnough ? "no error" : "NotPermitted: Not paired"))
        }
    }

    @Test func pairingFailsAsBluetoothdSays() async throws {
        let failed = "AuthenticationFailed: Authentication Failed"
        let canceled = "AuthenticationCanceled: Authentication Canceled"
        let cases: [(RecorderConfirmation, PairingMethod, String?, String)] = [
            (.automatic, .numericComparison, "org.bluez.Error.Rejected", failed),
            (.automatic, .numericComparison, "org.bluez.Error.Canceled", canceled),
            (.refuse, .numericComparison, nil, failed),
            (.automatic, .passkeyEntry, nil, failed),  // the wrong number
        ]
        for (confirmation, pairing, answer, error) in cases {
            try await Hub.run { configuration in
                configuration.peripherals[0].confirmation = confirmation
                configuration.peripherals[0].recorder.pairing = pairing
                configuration.peripherals[0].passkey = 1
            } _: { hub in
                try await hub.discover()
                try await hub.registerAgent("KeyboardDisplay") { call throws(DBusError) in
                    if let answer { throw .remote(answer, "") }
                    return call.member == "RequestPasskey" ? [.uint32(2)] : []
                }
                #expect(await hub.failure(Hub.device, "Device1", "Pair") == error)
                #expect(try await hub.property(Hub.device, "Device1", "Paired") == .boolean(false))
            }
        }
    }

    @Test func theRecordersUserConfirmsByHand() async throws {
        try await Hub.run { configuration in
            configuration.peripherals[0].confirmation = .manual
        } _: { hub in
            try await hub.discover()
            let (asked, asking) = AsyncStream.makeStream(of: Void.self)
            try await hub.registerAgent("DisplayYesNo") { _ in
                asking.yield()
                return []
            }
            async let pairing = hub.failure(Hub.device, "Device1", "Pair")
            var iterator = asked.makeAsyncIterator()
            await iterator.next()
            #expect(await hub.failure(Hub.device, "Device1", "Pair") == "InProgress: In Progress")
            try await hub.blueZ.confirm(true, on: "T-1")
            #expect(await pairing == "no error")
        }
    }

    @Test func aLostLinkEndsAPairing() async throws {
        try await Hub.run { configuration in
            configuration.peripherals[0].confirmation = .manual
        } _: { hub in
            try await hub.discover()
            let (asked, asking) = AsyncStream.makeStream(of: Void.self)
            try await hub.registerAgent("DisplayYesNo") { _ in
                asking.yield()
                return []
            }
            async let pairing = hub.failure(Hub.device, "Device1", "Pair")
            var iterator = asked.makeAsyncIterator()
            await iterator.next()
            await hub.blueZ.cutLink("T-1")
            #expect(await pairing == "AuthenticationCanceled: Authentication Canceled")
        }
    }

    @Test(arguments: [
        (BlueZVersion.debian12, "ConnectionAttemptFailed: Page Timeout"),
        (.debian13, "AlreadyExists: Already Exists"),
    ]) func aSecondBondIsRefused(version: BlueZVersion, error: String) async throws {
        try await Hub.run(version: version) { hub in
            try await hub.pairAndConnect()
            #expect(await hub.failure(Hub.device, "Device1", "Pair") == error)
        }
    }

    @Test func cancelPairingWithoutAPairingDeletesTheBond() async throws {
        try await Hub.run { hub in
            try await hub.pairAndConnect()
            #expect(
                await hub.failure(Hub.device, "Device1", "CancelPairing") == "DoesNotExist: Does Not Exist")
            #expect(try await hub.property(Hub.device, "Device1", "Paired") == .boolean(false))
        }
    }

    @Test func aConnectionHasOneAgent() async throws {
        try await Hub.run { hub in
            let manager = ObjectPath(trusted: "/org/bluez")
            let agent = DBusValue.objectPath(ObjectPath(trusted: "/agent"))
            func fails(_ member: String, _ arguments: [DBusValue]) async -> String {
                await hub.failure(manager, "AgentManager1", member, arguments)
            }
            #expect(await fails("UnregisterAgent", [agent]) == "DoesNotExist: Does Not Exist")
            #expect(
                await fails("RegisterAgent", [agent, .string("Telepath")])
                    == "InvalidArguments: Invalid arguments in method call")
            #expect(await fails("RegisterAgent", [agent, .string("")]) == "no error")
            #expect(await fails("RegisterAgent", [agent, .string("")]) == "AlreadyExists: Already Exists")
            #expect(await fails("RequestDefaultAgent", [agent]) == "no error")
            #expect(await fails("UnregisterAgent", [agent]) == "no error")
        }
    }

    @Test func aRecorderMayRefuseToPair() async throws {
        try await Hub.run { configuration in
            try configuration.peripherals[0].recorder.faults.apply("refuse-pairing")
        } _: { hub in
            try await hub.discover()
            #expect(
                await hub.failure(Hub.device, "Device1", "Pair")
                    == "AuthenticationFailed: Authentication Failed")
        }
    }
}
