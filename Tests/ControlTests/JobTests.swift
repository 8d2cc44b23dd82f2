import DBus
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Control

@Suite(.timeLimit(.minutes(5))) struct JobTests {
    @Test func aScanReturnsWhatWasFound() async throws {
        try await Harness.with { harness in
            let far = ScanResultDocument(address: "AA", rssi: -90, paired: true, seenAt: Fixtures.now)
            await harness.model.set(found: [far, Fixtures.scanResult, far])
            let found = try await harness.client.scan(seconds: 7) { _ in }
            #expect(found == [far, Fixtures.scanResult])
            #expect(await harness.model.calls == ["scan 7"])
        }
    }

    @Test func aPairingAsksAndIsAnswered() async throws {
        try await Harness.with { harness in
            await harness.model.set(questions: [
                .confirm(passkey: 42), .enterPasskey, .display(passkey: 7), .justWorks,
            ])
            let prompts = Locked<[String]>([])
            let request = PairRequest(device: "X", firstTime: true, repair: true, allowJustWorks: true)
            let result = try await harness.client.pair(request) { job throws(ControlError) in
                guard let prompt = job.prompt else { return nil }
                prompts.withLock { $0.append("\(prompt.kind) \(prompt.passkey ?? "")") }
                switch prompt.kind {
                case PromptDocument.Kind.passkey: return .passkey(123_456)
                case PromptDocument.Kind.display: return nil
                default: return .accept
                }
            }
            #expect(result == PairResultDocument(recorder: Fixtures.recorder, alreadyPaired: false))
            #expect(await harness.model.calls == ["pair X true true true"])
            #expect(await harness.model.answers == [.accept, .passkey(123_456), .accept, .accept])
            let seen = prompts.withLock { $0 }
            #expect(seen.contains("confirm 000042"))
            #expect(seen.contains("just_works "))
        }
    }

    @Test func aRefusalFailsThePairing() async throws {
        try await Harness.with { harness in
            await harness.model.set(questions: [.confirm(passkey: 1)])
            await #expect(throws: ControlError(.failed, "the pairing was refused")) {
                try await harness.client.pair(PairRequest(device: "X")) { job throws(ControlError) in
                    job.prompt == nil ? nil : .refuse
                }
            }
        }
    }

    @Test func aCallerThatLeavesEndsItsPairing() async throws {
        try await Harness.with { harness in
            await harness.model.set(questions: [.confirm(passkey: 1)])
            var cancellations = harness.model.cancellations.makeAsyncIterator()
            let caller = try await Connection.open(harness.bus.address, on: harness.loop)
            let call = MethodCall(
                ControlNames.busName, ControlNames.root, ControlNames.manager, "Pair",
                [.string("X"), .properties([:])])
            let path = try #require(try await caller.call(call).first?.asObjectPath)
            await caller.close()
            #expect(await cancellations.next() == "pair")
            await harness.waitUntilGone(path)
        }
    }

    @Test func aDetachedJobOutlivesItsCallerAndIsDrivenByItsUser() async throws {
        try await Harness.with { harness in
            await harness.model.set(questions: [.enterPasskey])
            let caller = try await Connection.open(harness.bus.address, on: harness.loop)
            let call = MethodCall(
                ControlNames.busName, ControlNames.root, ControlNames.manager, "Pair",
                [.string("X"), .properties(["detached": .boolean(true)])])
            let path = try #require(try await caller.call(call).first?.asObjectPath)
            await caller.close()
            let asking = try await harness.describe(path) { $0.prompt != nil }
            let serial = UInt32(asking.prompt?.serial ?? 0)
            for (serial, passkey) in [(serial + 1, "123456"), (serial, "12345"), (serial, "12345x")] {
                await #expect {
                    try await harness.respond(path, serial, passkey)
                } throws: { ($0 as? DBusError)?.name == ControlError.Code.invalidArgument.name }
            }
            try await harness.respond(path, serial, "012345")
            let ended = try await harness.describe(path) { $0.state != "running" }
            #expect(ended.state == "succeeded")
            #expect(ended.prompt == nil)
            #expect(await harness.model.answers == [.passkey(12_345)])
        }
    }

    @Test func cancelEndsAJob() async throws {
        try await Harness.with { harness in
            await harness.model.set(hangs: true)
            let path = try #require(
                try await harness.call("Scan", [.uint32(600), .properties([:])]).first?.asObjectPath)
            _ = try await harness.call("Cancel", path: path, interface: ControlNames.job)
            #expect(try await harness.describe(path) { $0.state != "running" }.state == "cancelled")
        }
    }

    @Test func aCancelledClientCancelsItsJob() async throws {
        try await Harness.with { harness in
            await harness.model.set(hangs: true)
            var cancellations = harness.model.cancellations.makeAsyncIterator()
            let (started, hasStarted) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await harness.client.pair(PairRequest(device: "X")) { _ throws(ControlError) in
                    hasStarted.yield()
                    return nil
                }
            }
            _ = await started.first { _ in true }
            task.cancel()
            await #expect { try await task.value } throws: { ($0 as? ControlError)?.code == .cancelled }
            #expect(await cancellations.next() == "pair")
        }
    }

    @Test func jobsAreManagedObjects() async throws {
        try await Harness.with { harness in
            await harness.model.set(hangs: true)
            let path = try await harness.call("Scan", [.uint32(600), .properties([:])]).first?.asObjectPath
            let manager = "org.freedesktop.DBus.ObjectManager"
            let objects = try await harness.call("GetManagedObjects", [], interface: manager).first?
                .asDictionary
            let job = try #require(
                path.flatMap { objects?[.objectPath($0)]?.asProperties?[ControlNames.job] })
            #expect(job.asProperties == ["Kind": .string("scan"), "State": .string("running")])
        }
    }

    @Test func jobsAreBounded() async throws {
        try await Harness.with { harness in
            await harness.model.set(hangs: true)
            for _ in 0..<16 { _ = try await harness.call("Scan", [.uint32(600), .properties([:])]) }
            await #expect { try await harness.call("Scan", [.uint32(600), .properties([:])]) } throws: {
                ($0 as? DBusError)?.name == ControlError.Code.busy.name
            }
        }
    }
}

extension Harness {
    /// The job's document once it is as `condition` says.
    func describe(
        _ path: ObjectPath, until condition: (JobDocument) -> Bool
    ) async throws -> JobDocument {
        while true {
            let reply = try await call("Describe", path: path, interface: ControlNames.job)
            let job: JobDocument = try DocumentCoding.document(from: reply.first ?? .boolean(false))
            if condition(job) { return job }
            await Task.yield()
        }
    }

    func respond(_ path: ObjectPath, _ serial: UInt32, _ passkey: String) async throws {
        _ = try await call(
            "Respond", [.uint32(serial), .boolean(true), .string(passkey), .properties([:])], path: path,
            interface: ControlNames.job)
    }

    func waitUntilGone(_ path: ObjectPath) async {
        while (try? await call("Describe", path: path, interface: ControlNames.job)) != nil {
            await Task.yield()
        }
    }
}
