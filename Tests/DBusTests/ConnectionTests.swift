import DBus
import EventLoop
import Glibc
import TestSupport
import Testing

private let path = ObjectPath(trusted: "/test/object")
private let name = "life.ccdw.Test1"

/// An object whose Echo returns what it got, whatever its type, inside a variant.
private let echo = ExportedInterface(
    name,
    methods: [
        ExportedMethod(
            "Echo", in: [ExportedArgument("value", .variant)], out: [ExportedArgument("value", .variant)]
        ) {
            call throws(DBusError) in call.arguments
        },
        ExportedMethod("Fail") { _ throws(DBusError) in
            throw .remote("life.ccdw.Test1.Error.Broken", "it is broken")
        },
        ExportedMethod("Hang") { _ throws(DBusError) in
            try? await Task.sleep(for: .seconds(3600))
            return []
        },
    ],
    properties: [
        ExportedProperty("Answer", .uint32) { .uint32(42) },
        ExportedProperty("Absent", .string) { nil },
    ])

@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    /// Runs `body` with a client while a server serves `echo` on a bus of their own.
    private func withServer(
        _ body: (_ client: Connection, _ server: Connection, _ bus: TestBus) async throws -> Void
    ) async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let server = try await Connection.open(bus.address, on: loop)
        let client = try await Connection.open(bus.address, on: loop)
        await server.exportObjectManager(at: .root)
        try await server.export(ExportedObject(path, [echo]))
        try await server.requestName(name)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.serve() }
            try await body(client, server, bus)
            await server.close()
            await client.close()
            group.cancelAll()
        }
    }

    private func call(_ client: Connection, _ member: String, _ arguments: [DBusValue] = [])
        async throws(DBusError)
        -> [DBusValue]
    {
        try await client.call(MethodCall(name, path, name, member, arguments), timeout: .seconds(20))
    }

    @Test func aCallWithMoreThanAnyoneNeedsIsRefused() async throws {
        try await withServer { client, _, _ in
            let large: [DBusValue] = [
                .array(of: .variant, Array(repeating: .variant(.byte(1)), count: 100_000)),
                .strings([String(repeating: "x", count: 1 << 20)]),
                .bytes(Array(repeating: 0, count: 1 << 20)),
            ]
            for value in large {
                let answer = try? await call(client, "Echo", [.variant(value)])
                #expect(answer == nil)
            }
            let answer = try await call(client, "Echo", [.variant(.byte(1))])
            #expect(answer == [.variant(.byte(1))])
        }
    }

    @Test func oneSenderCannotKeepTheOthersWaiting() async throws {
        try await withServer { client, _, bus in
            let loop = client.loop
            let other = try await Connection.open(bus.address, on: loop)
            await withTaskGroup(of: DBusError?.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        do throws(DBusError) {
                            _ = try await self.call(client, "Hang")
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                // Those beyond the limit are refused at once, the others still wait.
                for _ in 0..<72 {
                    let refusal = await group.next()
                    #expect((refusal ?? nil)?.name == DBusErrorName.limitsExceeded)
                }
                let answer = try? await call(other, "Echo", [.variant(.byte(1))])
                #expect(answer == [.variant(.byte(1))])
                group.cancelAll()
            }
            await other.close()
        }
    }

    @Test func everyKindOfValueRoundTrips() async throws {
        let values: [DBusValue] = [
            .byte(.max), .boolean(true), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max),
            .int64(.min),
            .uint64(.max), .double(-0.5), .string("größe 🎙"), .string(""), .objectPath(path),
            .signature("a{sv}"),
            .bytes([]), .bytes(Array(0...255)), .strings([]), .strings(["a", "b"]), .properties([:]),
            .properties(["a": .variant(.variant(.byte(1)))]),
            .structure([.byte(1), .structure([.string("x")])]),
            .array(of: .array(.byte), [.bytes([1]), .bytes([])]),
            .dictionary(
                key: .objectPath,
                value: .dictionary(key: .string, value: .dictionary(key: .string, value: .variant)),
                [
                    .objectPath(path): .dictionary(
                        key: .string, value: .dictionary(key: .string, value: .variant),
                        [.string("i"): .properties([:])])
                ]),
        ]
        try await withServer { client, _, _ in
            for value in values {
                let reply = try await call(client, "Echo", [.variant(value)])
                #expect(reply == [.variant(value)])
            }
        }
    }

    @Test func valuesThatTheWireCannotCarryAreErrors() async throws {
        let values: [DBusValue] = [
            .structure([]), .string("a\0b"), .signature("nonsense("), .array(of: .byte, [.string("x")]),
            .dictionary(key: .variant, value: .byte, [.variant(.byte(1)): .byte(1)]),
            (0..<40).reduce(DBusValue.byte(1)) { value, _ in .variant(value) },
        ]
        try await withServer { client, _, _ in
            for value in values {
                await #expect(throws: DBusError.self) { try await call(client, "Echo", [.variant(value)]) }
            }
            // The connection works on.
            let reply = try await call(client, "Echo", [.variant(.byte(1))])
            #expect(reply == [.variant(.byte(1))])
        }
    }

    @Test func descriptorsPassBothWays() async throws {
        try await withServer { client, _, _ in
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            defer { close(ends[0]) }
            let reply = try await call(client, "Echo", [.variant(.unixFD(SharedFD(ends[1])))])
            let copy = try #require(reply.first?.asFD)
            var byte: UInt8 = 7
            #expect(write(copy.rawValue, &byte, 1) == 1)
            var read: UInt8 = 0
            #expect(Glibc.read(ends[0], &read, 1) == 1)
            #expect(read == 7)
        }
    }

    @Test func errorsKeepTheirNamesAndTexts() async throws {
        try await withServer { client, _, _ in
            let broken = DBusError(.remote, name: "life.ccdw.Test1.Error.Broken", "it is broken")
            await #expect(throws: broken) { try await call(client, "Fail") }
            let cases: [(ObjectPath, String, String, [DBusValue], String)] = [
                (path, name, "Nothing", [], DBusErrorName.unknownMethod),
                (path, "no.such.Interface", "Fail", [], DBusErrorName.unknownInterface),
                (.root.appending("nowhere"), name, "Fail", [], DBusErrorName.unknownObject),
                (path, name, "Echo", [], DBusErrorName.invalidArgs),
                (path, name, "Echo", [.string("not a variant")], DBusErrorName.invalidArgs),
            ]
            for (path, interface, member, arguments, error) in cases {
                let call = MethodCall(name, path, interface, member, arguments)
                await #expect { try await client.call(call) } throws: { ($0 as? DBusError)?.name == error }
            }
        }
    }

    @Test func aCallWithoutAnswerEndsAtItsDeadline() async throws {
        try await withServer { client, _, _ in
            let hang = MethodCall(name, path, name, "Hang")
            await #expect { try await client.call(hang, timeout: .milliseconds(50)) } throws: {
                ($0 as? DBusError)?.code == .noReply
            }
        }
    }

    @Test func aCancelledCallEndsAtOnce() async throws {
        try await withServer { client, _, _ in
            let task = Task {
                try await client.call(MethodCall(name, path, name, "Hang"), timeout: .seconds(3600))
            }
            _ = try await call(client, "Echo", [.variant(.byte(1))])
            task.cancel()
            await #expect { try await task.value } throws: { ($0 as? DBusError)?.code == .cancelled }
        }
    }

    @Test func propertiesAreReadAndAbsentOnesAreNotThere() async throws {
        try await withServer { client, _, _ in
            let properties = "org.freedesktop.DBus.Properties"
            let all = MethodCall(name, path, properties, "GetAll", [.string(name)])
            let values = try await client.call(all)
            #expect(values.first?.asProperties == ["Answer": .uint32(42)])
            let absent = MethodCall(name, path, properties, "Get", [.string(name), .string("Absent")])
            await #expect { try await client.call(absent) } throws: {
                ($0 as? DBusError)?.name == DBusErrorName.unknownProperty
            }
            let set = MethodCall(
                name, path, properties, "Set", [.string(name), .string("Answer"), .variant(.uint32(1))])
            await #expect { try await client.call(set) } throws: {
                ($0 as? DBusError)?.name == DBusErrorName.propertyReadOnly
            }
        }
    }

    @Test func managedObjectsAndIntrospectionShowWhatIsExported() async throws {
        try await withServer { client, _, _ in
            let managed = MethodCall(name, .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
            let objects = try #require(try await client.call(managed).first?.asDictionary)
            #expect(Array(objects.keys) == [.objectPath(path)])
            let introspect = "org.freedesktop.DBus.Introspectable"
            let root = try await client.call(MethodCall(name, .root, introspect, "Introspect")).first?
                .asString
            #expect(root?.contains("<node name=\"test\"/>") == true)
            let object = try await client.call(MethodCall(name, path, introspect, "Introspect")).first?
                .asString
            #expect(object?.contains("<property name=\"Answer\" type=\"u\" access=\"read\"/>") == true)
        }
    }

    @Test func signalsAndOwnersComeInOrder() async throws {
        try await withServer { client, server, bus in
            let loop = server.loop
            var events = try await client.events(of: "life.ccdw.Other1").makeAsyncIterator()
            #expect(await events.next() == .owner(nil))
            let other = try await Connection.open(bus.address, on: loop)
            try await other.requestName("life.ccdw.Other1")
            let unique = await other.uniqueName
            #expect(await events.next() == .owner(unique))
            for index in 0..<3 { try await other.emit(path, name, "Tick", [.int32(Int32(index))]) }
            for index in 0..<3 {
                guard case .signal(let signal) = await events.next() else {
                    Issue.record("no signal")
                    break
                }
                #expect(signal.arguments == [.int32(Int32(index))])
                #expect(signal.sender == unique)
            }
            // A stranger's signal of the same interface does not pass for the owner's.
            try await server.emit(path, name, "Tick", [.int32(99)])
            await other.close()
            #expect(await events.next() == .owner(nil))
        }
    }

    @Test func aDeadBusFailsEverythingAndEndsTheStreams() async throws {
        try await withServer { client, server, bus in
            var events = try await client.events(of: name).makeAsyncIterator()
            _ = await events.next()
            let task = Task {
                try await client.call(MethodCall(name, path, name, "Hang"), timeout: .seconds(3600))
            }
            _ = try await call(client, "Echo", [.variant(.byte(1))])
            bus.stop()
            await client.waitUntilClosed()
            await #expect(throws: DBusError.self) { try await task.value }
            await #expect { try await call(client, "Echo", [.variant(.byte(1))]) } throws: {
                ($0 as? DBusError)?.code == .disconnected
            }
            while await events.next() != nil {}
            await server.waitUntilClosed()
        }
    }

    @Test func noBusIsAClearError() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        await #expect { try await Connection.open("unix:path=/nonexistent/bus", on: loop) } throws: {
            ($0 as? DBusError)?.code == .cannotConnect
        }
    }

    @Test func aTakenNameIsAClearError() async throws {
        try await withServer { client, _, _ in
            await #expect { try await client.requestName(name) } throws: {
                ($0 as? DBusError)?.code == .nameTaken
            }
        }
    }

    @Test func aRefusedCallerGetsTheAuthorizersError() async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let server = try await Connection.open(bus.address, on: loop)
        let client = try await Connection.open(bus.address, on: loop)
        try await server.export(ExportedObject(path, [echo]))
        try await server.requestName(name)
        #expect(try await client.userID(of: client.uniqueName) == getuid())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await server.serve { _ throws(DBusError) in
                    throw .remote(DBusErrorName.accessDenied, "not you")
                }
            }
            let denied = DBusError(.remote, name: DBusErrorName.accessDenied, "not you")
            await #expect(throws: denied) { try await call(client, "Echo", [.variant(.byte(1))]) }
            await server.close()
        }
    }

    @Test func aHundredCallsAtOnceAreAllAnswered() async throws {
        try await withServer { client, _, _ in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<100 {
                    let value = [DBusValue.variant(.int32(Int32(index)))]
                    group.addTask { try await self.call(client, "Echo", value) == value }
                }
                for try await isSame in group { #expect(isSame) }
            }
        }
    }
}
