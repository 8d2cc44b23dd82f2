import DBus
import Foundation
import TestSupport
import Testing

@testable import Control

/// Recorders and sessions as objects on the bus.
@Suite(.timeLimit(.minutes(5))) struct ObjectTests {
    private static let recorder = ControlObject.recorder.path(of: Fixtures.recorder.id)
    private static let session = ControlObject.session.path(of: Fixtures.session.id)
    private static let properties = "org.freedesktop.DBus.Properties"

    @Test(arguments: [
        (ControlObject.recorder, "CR1-0042", "recorders/CR1_2d0042"), (.recorder, "", "recorders/_"),
        (.recorder, "a/b\u{1B}é", "recorders/a_2fb_1b_c3_a9"),
        (.session, "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "sessions/1b9d6bcdbbfd4b2d9b5dab8dfbbd4bed"),
    ])
    func pathsHoldAnyId(_ kind: ControlObject, _ id: String, _ path: String) {
        #expect(kind.path(of: id).text == "/life/ccdw/Celestia1/" + path)
    }

    private func all(_ harness: Harness, _ path: ObjectPath, _ interface: String) async throws
        -> [String: DBusValue]
    {
        try await harness.call("GetAll", [.string(interface)], path: path, interface: Self.properties)
            .first?.asProperties ?? [:]
    }

    @Test func theObjectsHaveTheFieldsOfTheirDocuments() async throws {
        try await Harness.with { harness in
            let recorder = try await all(harness, Self.recorder, ControlNames.recorder)
            #expect(recorder["Name"] == .string("Küche 🎙") && recorder["PendingCaptures"] == .int64(2))
            #expect(recorder["Battery"]?.asProperties?["percent"] == .int64(81))
            // What is not known is not there.
            #expect(recorder["LastError"] == nil && recorder["OwnName"] == nil)
            let session = try await all(harness, Self.session, ControlNames.session)
            #expect(session["State"] == .string("uploading") && session["Files"] == .int64(2))
            #expect(session["Assets"] == nil)
            let managed = try await harness.call(
                "GetManagedObjects", [], interface: "org.freedesktop.DBus.ObjectManager")
            let objects = try #require(managed.first?.asDictionary)
            #expect(objects[.objectPath(Self.recorder)] != nil && objects[.objectPath(Self.session)] != nil)
        }
    }

    /// Whatever a document may have is described, with its type.
    @Test func everyFieldIsDescribed() throws {
        var recorder = Fixtures.recorder
        recorder.ownName = "x"
        recorder.dataPlaneReason = "x"
        recorder.account = "bound"
        recorder.lastError = "x"
        recorder.incompleteSync = Fixtures.now
        var session = Fixtures.session
        session.source = "recorder"
        session.host = "h"
        session.reason = "x"
        session.holds = [HoldDocument(reason: "quota", clearedBy: "x", since: Fixtures.now)]
        session.ambiguous = true
        session.retries = 1
        session.lastError = "x"
        session.terminalReason = "x"
        session.account = "u"
        session.migratedFrom = "x"
        session.migratedTo = "x"
        session.nextTry = Fixtures.now
        for (kind, values) in [
            (ControlObject.recorder, ObjectBoard.values(recorder, .recorder)),
            (.session, ObjectBoard.values(session, .session)),
        ] {
            for property in kind.properties {
                #expect(values[property.name]?.type == property.type, "\(kind) \(property.name)")
            }
        }
    }

    @Test func changesAreTold() async throws {
        try await Harness.with { harness in
            // An answer says that the objects are there.
            _ = try await all(harness, Self.session, ControlNames.session)
            let events = try await harness.raw.events(of: ControlNames.busName)
            var changed = Fixtures.session
            changed.state = "imported"
            changed.cloud = nil
            await harness.model.set(sessions: [changed])
            harness.model.changed.yield(.sessions)
            for await event in events {
                guard case .signal(let signal) = event, signal.member == "PropertiesChanged" else { continue }
                #expect(signal.path == Self.session)
                #expect(signal.arguments.first == .string(ControlNames.session))
                #expect(signal.arguments[1].asProperties == ["State": .string("imported")])
                #expect(signal.arguments[2] == .strings(["Cloud"]))
                break
            }
            await harness.model.set(sessions: [])
            harness.model.changed.yield(.sessions)
            for await event in events {
                guard case .signal(let signal) = event, signal.member == "InterfacesRemoved" else { continue }
                #expect(signal.arguments.first == .objectPath(Self.session))
                break
            }
            await #expect {
                try await all(harness, Self.session, ControlNames.session)
            } throws: { ($0 as? DBusError)?.name == DBusErrorName.unknownObject }
        }
    }

    /// The object, its method and what the model is asked.
    @Test(
        arguments: [
            (true, "Sync", [], "sync CR1-0042"),
            (true, "Rename", [.string("Attic")], "rename CR1-0042 Attic"),
            (true, "Bind", [], "bind CR1-0042"), (true, "Unbind", [], "unbind CR1-0042"),
            (true, "Describe", [], "recorder CR1-0042"),
            (false, "Retry", [], "Retry \(Fixtures.session.id)"),
            (false, "Pause", [], "Pause \(Fixtures.session.id)"),
            (false, "Migrate", [], "migrate \(Fixtures.session.id)"),
            (false, "Describe", [], "session \(Fixtures.session.id)"),
        ] as [(Bool, String, [DBusValue], String)])
    func methodsActOnTheirObject(
        _ isRecorder: Bool, _ method: String, _ arguments: [DBusValue], _ call: String
    ) async throws {
        try await Harness.with { harness in
            _ = try await harness.call(
                method, arguments + [.properties([:])], path: isRecorder ? Self.recorder : Self.session,
                interface: isRecorder ? ControlNames.recorder : ControlNames.session)
            #expect(await harness.model.calls.map { $0.lowercased() } == [call.lowercased()])
        }
    }

    /// Nothing but busctl(1) is needed.
    @Test func busctlIsEnough() async throws {
        try await Harness.with { harness in
            func busctl(_ words: String...) async throws -> String {
                let process = Process()
                process.executableURL = URL(filePath: "/usr/bin/env")
                process.arguments =
                    ["busctl", "--address=\(harness.bus.address)"] + words
                let pipe = Pipe()
                process.standardOutput = pipe
                try process.run()
                return await withCheckedContinuation { continuation in
                    DispatchQueue.global().async {
                        let data = pipe.fileHandleForReading.readDataToEndOfFile()
                        process.waitUntilExit()
                        continuation.resume(returning: String(decoding: data, as: UTF8.self))
                    }
                }
            }
            let name = ControlNames.busName
            let tree = try await busctl("tree", "--list", name)
            #expect(tree.contains(Self.recorder.text) && tree.contains(Self.session.text))
            #expect(
                try await busctl("get-property", name, Self.session.text, ControlNames.session, "State")
                    == "s \"uploading\"\n")
            #expect(
                try await busctl(
                    "call", name, Self.session.text, ControlNames.session, "Pause", "a{sv}", "0"
                ).hasPrefix("a{sv} "))
            #expect(
                try await busctl("introspect", name, Self.recorder.text, ControlNames.recorder)
                    .contains(".Rename"))
        }
    }
}
