import DBus
import EventLoop
import TestSupport
import Testing

@testable import BlueZ

@Suite(.timeLimit(.minutes(2))) struct PairingTests {
    private let device = DBusValue.objectPath(Recorder.path)

    /// Lets Pair ask the agent, and succeed when the agent does.
    private func script(
        _ bluetoothd: ScriptedBluetoothd, asks member: String, _ arguments: [DBusValue],
        expecting reply: [DBusValue] = []
    ) async {
        await bluetoothd.on("Pair") { _, bluetoothd throws(DBusError) in
            do throws(DBusError) {
                let answer = try await bluetoothd.callAgent(member, arguments)
                guard answer == reply else { throw DBusError(.malformed, "\(answer)") }
            } catch {
                let name =
                    error.name.hasSuffix("Rejected") ? "AuthenticationFailed" : "AuthenticationCanceled"
                throw .remote("org.bluez.Error." + name, error.message)
            }
            try await bluetoothd.set(Recorder.path, ScriptedBluetoothd.device, ["Paired": .boolean(true)])
            return []
        }
    }

    @Test(
        arguments: [
            (
                "RequestConfirmation", [.uint32(42)], [], PairingPrompt.confirm(passkey: "000042"),
                PairingAnswer.accept
            ),
            ("RequestPasskey", [], [.uint32(123_456)], .enterPasskey, .passkey(123_456)),
            ("RequestAuthorization", [], [], .justWorks, .accept),
            (
                "DisplayPasskey", [.uint32(999_999), .uint16(2)], [], .display(passkey: "999999", entered: 2),
                .accept
            ),
        ] as [(String, [DBusValue], [DBusValue], PairingPrompt, PairingAnswer)])
    func promptsReachWhoeverPairs(
        member: String, arguments: [DBusValue], reply: [DBusValue], prompt: PairingPrompt,
        answer: PairingAnswer
    ) async throws {
        try await BlueZFixture.run { fixture in
            await script(fixture.bluetoothd, asks: member, [device] + arguments, expecting: reply)
            let (prompts, continuation) = AsyncStream.makeStream(of: PairingPrompt.self)
            try await fixture.bluez.pair(Recorder.path) { prompt in
                continuation.yield(prompt)
                return answer
            }
            var seen = prompts.makeAsyncIterator()
            #expect(await seen.next() == prompt)
            #expect(await fixture.bluez.device(Recorder.path)?.isPaired == true)
            // Once is enough.
            try await fixture.bluez.pair(Recorder.path) { _ in .reject }
            #expect(await fixture.bluetoothd.count(of: "Pair") == 1)
        }
    }

    @Test(
        arguments: [
            ("RequestConfirmation", [.uint32(42)], PairingAnswer.reject), ("RequestPasskey", [], .accept),
            ("RequestPasskey", [], .passkey(1_000_000)), ("RequestAuthorization", [], .reject),
        ] as [(String, [DBusValue], PairingAnswer)])
    func aNoIsOurs(member: String, arguments: [DBusValue], answer: PairingAnswer) async throws {
        try await BlueZFixture.run { fixture in
            await script(fixture.bluetoothd, asks: member, [device] + arguments)
            let bluez = fixture.bluez
            let result = await code { () async throws(BlueZError) in
                try await bluez.pair(Recorder.path) { _ in answer }
            }
            #expect(result == .pairingDeclined)
        }
    }

    @Test func whatNobodyAskedForIsRejected() async throws {
        try await BlueZFixture.run { fixture in
            let bluetoothd = fixture.bluetoothd
            await bluetoothd.waitForCall("RegisterAgent")
            let cases: [(String, [DBusValue])] = [
                ("RequestConfirmation", [device, .uint32(1)]), ("RequestPasskey", [device]),
                ("RequestAuthorization", [device]), ("DisplayPasskey", [device, .uint32(1), .uint16(0)]),
                ("RequestPinCode", [device]), ("DisplayPinCode", [device, .string("0000")]),
                ("AuthorizeService", [device, .string(Recorder.serviceUUID)]),
            ]
            for (member, arguments) in cases {
                await #expect { _ = try await bluetoothd.callAgent(member, arguments) } throws: {
                    ($0 as? DBusError)?.name == "org.bluez.Error.Rejected"
                }
            }
        }
    }

    @Test func pairedDevicesMayUseOurServicesOnly() async throws {
        try await BlueZFixture.run { fixture in
            let bluetoothd = fixture.bluetoothd
            await bluetoothd.waitForCall("RegisterAgent")
            try await fixture.setDevice(["Paired": .boolean(true)])
            try await fixture.wait("the bond") { $0.device(Recorder.path)?.isPaired == true }
            _ = try await bluetoothd.callAgent("AuthorizeService", [device, .string(Recorder.serviceUUID)])
            await #expect(throws: DBusError.self) {
                _ = try await bluetoothd.callAgent("AuthorizeService", [device, .string(Recorder.dataUUID)])
            }
        }
    }

    @Test func strangersOnTheBusAreRefused() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let stranger = try await Connection.open(fixture.bus.address, on: fixture.loop)
            await script(fixture.bluetoothd, asks: "RequestConfirmation", [device, .uint32(7)])
            let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
            let (release, releaser) = AsyncStream.makeStream(of: Void.self)
            async let paired: Void = bluez.pair(Recorder.path) { _ in
                continuation.yield()
                for await _ in release { break }
                return .accept
            }
            for await _ in asked { break }
            let target = await bluez.connection.uniqueName
            for (member, arguments) in [("RequestConfirmation", [device, .uint32(1)]), ("Cancel", [])] {
                let call = MethodCall(
                    target, bluez.configuration.agentPath, "org.bluez.Agent1", member, arguments)
                await #expect { _ = try await stranger.call(call) } throws: {
                    ($0 as? DBusError)?.name == DBusErrorName.accessDenied
                }
            }
            releaser.yield()
            try await paired
            await stranger.close()
        }
    }

    @Test func bluetoothdMayTakeItsQuestionBack() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            await script(fixture.bluetoothd, asks: "RequestConfirmation", [device, .uint32(7)])
            let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
            async let result = code { () async throws(BlueZError) in
                try await bluez.pair(Recorder.path) { _ in
                    continuation.yield()
                    try? await Task.sleep(for: .seconds(3600))
                    return .accept
                }
            }
            for await _ in asked { break }
            _ = try await fixture.bluetoothd.callAgent("Cancel")
            #expect(await result == .authenticationFailed)
        }
    }

    @Test func aReleasedAgentIsRegisteredAgain() async throws {
        try await BlueZFixture.run { fixture in
            try await fixture.wait("the agent") { $0.agent.isRegistered }
            _ = try await fixture.bluetoothd.callAgent("Release")
            await fixture.bluetoothd.waitForCall("RegisterAgent", count: 2)
        }
    }

    @Test func alreadyExistsIsSuccessOnceItIsPaired() async throws {
        try await BlueZFixture.run(deadlines: [\.disconnect: .milliseconds(100)]) { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.fail("Pair", "AlreadyExists", "Already Exists")
            let unpaired = await code { () async throws(BlueZError) in
                try await bluez.pair(Recorder.path) { _ in .reject }
            }
            #expect(unpaired == .timedOut)
            await fixture.bluetoothd.on("Pair") { _, bluetoothd throws(DBusError) in
                try await bluetoothd.set(Recorder.path, ScriptedBluetoothd.device, ["Paired": .boolean(true)])
                throw .remote("org.bluez.Error.AlreadyExists", "Already Exists")
            }
            try await bluez.pair(Recorder.path) { _ in .reject }
        }
    }

    @Test func aPairThatComesTooSoonIsRepeatedOnce() async throws {
        try await BlueZFixture.run(deadlines: [\.pairAgain: .milliseconds(1)]) { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.fail("Pair", "AuthenticationCanceled")
            let result = await code { () async throws(BlueZError) in
                try await bluez.pair(Recorder.path) { _ in .reject }
            }
            #expect(result == .authenticationCanceled)
            #expect(await fixture.bluetoothd.count(of: "Pair") == 2)
            await fixture.bluetoothd.fail("Pair", "AuthenticationFailed")
            let failed = await code { () async throws(BlueZError) in
                try await bluez.pair(Recorder.path) { _ in .reject }
            }
            #expect(failed == .authenticationFailed)
            #expect(await fixture.bluetoothd.count(of: "Pair") == 3)
            // Nothing of ours was under way any more: CancelPairing would delete a bond.
            #expect(await fixture.bluetoothd.count(of: "CancelPairing") == 0)
        }
    }

    /// bluetoothd gives the kernel's BUSY the name of a refusal. The device's own comes after a question.
    @Test(arguments: [(false, BlueZError.Code.inProgress), (true, .authenticationRejected)])
    func aKernelThatIsBusyIsNoRefusal(isAsked: Bool, expected: BlueZError.Code) async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.on("Pair") { [device] _, bluetoothd throws(DBusError) in
                if isAsked {
                    _ = try await bluetoothd.callAgent("RequestConfirmation", [device, .uint32(7)])
                }
                throw .remote("org.bluez.Error.AuthenticationRejected", "Authentication Rejected")
            }
            let result = await code { () async throws(BlueZError) in
                try await bluez.pair(Recorder.path) { _ in .accept }
            }
            #expect(result == expected)
        }
    }

    @Test func aPairWithoutEndIsCancelled() async throws {
        try await BlueZFixture.run(deadlines: [\.pair: .milliseconds(50)]) { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.on("Pair") { _, _ throws(DBusError) in
                try? await Task.sleep(for: .seconds(3600))
                return []
            }
            let result = await code { () async throws(BlueZError) in
                try await bluez.pair(Recorder.path) { _ in .reject }
            }
            #expect(result == .timedOut)
            await fixture.bluetoothd.waitForCall("CancelPairing")
        }
    }

    @Test func removingADeviceThatIsGoneIsNoError() async throws {
        try await BlueZFixture.run { fixture in
            await fixture.bluetoothd.fail("RemoveDevice", "DoesNotExist")
            try await fixture.bluez.removeDevice(Recorder.path)
            #expect(await fixture.bluetoothd.calls.last?.arguments == [device])
            try await fixture.bluez.removeDevice(ScriptedBluetoothd.hci0.appending("dev_nobody"))
        }
    }
}
