import DBus
import EventLoop
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Control

private struct Nobody: UserAccounts {
    func account(of user: UInt32) -> UserAccount? { UserAccount(name: "bob", group: 100) }
    func groupID(of group: String) -> UInt32? { 990 }
    func groups(of account: UserAccount) -> [UInt32] { [100] }
}

@Suite(.timeLimit(.minutes(5))) struct ControlServerTests {
    @Test func everyRequestReachesTheModelAndItsAnswerTheClient() async throws {
        try await Harness.with { harness in
            let client = harness.client
            #expect(try await client.status() == Fixtures.status)
            #expect(try await client.recorders() == [Fixtures.recorder])
            #expect(try await client.recorder("CR1-0042") == Fixtures.recorder)
            let query = SessionQuery(offset: 2, limit: 9, recorder: "CR1-0042", state: "imported")
            #expect(try await client.sessions(query).sessions == [Fixtures.session])
            #expect(try await client.session("1b9d") == Fixtures.session)
            #expect(
                try await client.login(identifier: "ada", password: Password("s3cret ü")) == Fixtures.account)
            #expect(try await client.act(.retry, on: "1b9d").id == Fixtures.session.id)
            try await client.sync(recorder: nil)
            try await client.sync(recorder: "CR1-0042")
            try await client.forget("CR1-0042", unbind: true)
            try await client.logout()
            #expect(try await client.version() == VersionDocument(version: "9.8.7", apiVersion: 4))
            #expect(
                await harness.model.calls == [
                    "status", "recorders", "recorder CR1-0042", "sessions 2 9 CR1-0042 imported",
                    "session 1b9d",
                    "login ada s3cret ü", "Retry 1b9d", "sync -", "sync CR1-0042", "forget CR1-0042 true",
                    "logout",
                ])
        }
    }

    @Test(arguments: ControlError.Code.allCases.filter { $0 != .notRunning && $0 != .noBus })
    func errorsCrossTheBusWhole(_ code: ControlError.Code) async throws {
        try await Harness.with { harness in
            let error = ControlError(code, "it did not work: ü", hint: "try this\nor that")
            await harness.model.set(behaviour: .fails(error))
            await #expect(throws: error) { try await harness.client.status() }
        }
    }

    @Test func withoutADaemonTheClientSaysSo() async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let client = try await ControlClient.connect(bus.address, on: loop)
        await #expect(throws: ControlError.notRunning) { try await client.status() }
        bus.stop()
        await #expect { try await client.status() } throws: { ($0 as? ControlError)?.code == .noBus }
        await #expect {
            _ = try await ControlClient.connect("unix:path=/nonexistent", on: loop)
        } throws: { ($0 as? ControlError)?.code == .noBus }
    }

    @Test func aSecondDaemonIsRefusedClearly() async throws {
        try await Harness.with { harness in
            let second = ControlServer(connection: harness.raw, model: StubModel())
            await #expect { try await second.start() } throws: {
                ($0 as? ControlError)?.code == .busy
            }
        }
    }

    @Test func strangersAreRefusedByName() async throws {
        // Root always may, so that this means something only for others.
        guard getuid() != 0 else { return }
        let access = AccessRule(daemonUser: getuid() + 1, accounts: Nobody())
        try await Harness.with(access: access) { harness in
            await #expect { try await harness.client.status() } throws: {
                ($0 as? ControlError)?.hint == "sudo usermod -aG celestiad bob"
            }
        }
    }

    @Test func hostileArgumentsAreErrors() async throws {
        try await Harness.with { harness in
            let none = DBusValue.properties([:])
            let cases: [(String, [DBusValue])] = [
                ("Recorder", [.string(""), none]), ("Recorder", [.string("a\u{1B}[2J"), none]),
                ("Session", [.string(String(repeating: "x", count: 257)), none]),
                ("Scan", [.uint32(0), none]), ("Scan", [.uint32(601), none]),
                ("Pair", [.string("\n"), none]),
                ("Sync", [.properties(["recorder": .string("\u{7F}")])]),
                // Of another type than theirs, options say something else than the caller means.
                ("Sync", [.properties(["recorder": .boolean(true)])]),
                ("Sessions", [.properties(["offset": .string("5")])]),
                ("Sessions", [.properties(["attention": .string("true")])]),
                ("Forget", [.string("CR1-0042"), .properties(["unbind": .int64(1)])]),
                ("Pair", [.string("CR1-0042"), .properties(["repair": .string("yes")])]),
                ("Pair", [.string("CR1-0042"), .properties(["search_seconds": .string("9")])]),
                ("Scan", [.uint32(5), .properties(["detached": .byte(1)])]),
            ]
            for (member, arguments) in cases {
                await #expect { try await harness.call(member, arguments) } throws: {
                    ($0 as? DBusError)?.name == "life.ccdw.Celestia1.Error.InvalidArgument"
                }
            }
            await #expect {
                try await harness.call("Recorder", [.string(String(repeating: "x", count: 70_000)), none])
            } throws: {
                ($0 as? DBusError)?.name == DBusErrorName.invalidArgs
                    && ($0 as? DBusError)?.message == "the message is too large"
            }
            #expect(await harness.model.calls == [])
            _ = try await harness.call(
                "Sessions", [.properties(["offset": .int64(-5), "limit": .int64(.max), "junk": .byte(1)])])
            #expect(await harness.model.calls == ["sessions 0 500 - -"])
        }
    }

    @Test func aPasswordThatIsNoneIsRefused() async throws {
        try await Harness.with { harness in
            func login(_ write: (Int32) -> Void) async -> String? {
                var ends: [Int32] = [0, 0]
                guard pipe(&ends) == 0 else { return nil }
                write(ends[1])
                close(ends[1])
                let arguments: [DBusValue] = [.string("ada"), .unixFD(SharedFD(ends[0])), .properties([:])]
                do throws(DBusError) {
                    _ = try await harness.call("Login", arguments)
                    return "accepted"
                } catch {
                    return error.message
                }
            }
            #expect(await login { _ in } == "the password is empty or not UTF-8")
            #expect(await login { _ = write($0, "\n", 1) } == "the password is empty or not UTF-8")
            #expect(await login { _ = write($0, [0xFF], 1) } == "the password is empty or not UTF-8")
            let long = [UInt8](repeating: 65, count: 5000)
            #expect(await login { _ = write($0, long, 5000) } == "the password is longer than 4096 bytes")
            #expect(await login { _ = write($0, "pw\r\n", 4) } == "accepted")
            #expect(await harness.model.calls == ["login ada pw"])
            let file = SharedFD(open("/dev/null", O_RDONLY))
            await #expect {
                try await harness.call("Login", [.string("ada"), .unixFD(file), .properties([:])])
            } throws: { ($0 as? DBusError)?.message == "the password must come by a pipe" }
        }
    }

    @Test func changesAreAnnouncedWithoutTheirContent() async throws {
        try await Harness.with { harness in
            var events = try await harness.client.events().makeAsyncIterator()
            #expect(try await events.next() == .daemon(isRunning: true))
            harness.model.changed.yield(.recorders)
            #expect(try await events.next() == .changed([.recorders]))
            // What comes close together is announced together, and nothing is lost.
            harness.model.changed.yield(.sessions)
            harness.model.changed.yield(.health)
            var kinds: Set<ChangeKind> = []
            while kinds != [.sessions, .health], case .changed(let more) = try await events.next() {
                kinds.formUnion(more)
            }
            #expect(kinds == [.sessions, .health])
        }
    }
}
