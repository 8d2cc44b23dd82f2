import DBus
import Foundation
import FoundationXML
import Testing

@testable import Control

/// The members of an introspection file, as text that can be compared.
private final class InterfaceReader: NSObject, XMLParserDelegate {
    private(set) var members: Set<String> = []
    private(set) var undocumented: [String] = []
    private var interface = ""
    private var member = ""
    private var lastComment = ""

    init(_ xml: String) {
        super.init()
        let parser = XMLParser(data: Data(xml.utf8))
        parser.delegate = self
        if !parser.parse() { Issue.record("not XML: \(String(describing: parser.parserError))") }
    }

    func parser(_ parser: XMLParser, foundComment comment: String) {
        lastComment = comment
    }

    func parser(
        _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        let name = attributes["name"] ?? ""
        switch element {
        case "interface": interface = name
        case "method", "signal":
            member = "\(element) \(interface).\(name)"
            members.insert(member)
            checkDoc(name)
        case "property":
            members.insert(
                "property \(interface).\(name) \(attributes["type"] ?? "") \(attributes["access"] ?? "")")
            checkDoc(name)
        case "arg":
            let direction = attributes["direction"] ?? "out"
            members.insert("\(member) \(direction) \(name) \(attributes["type"] ?? "")")
        default: break
        }
    }

    private func checkDoc(_ name: String) {
        if !lastComment.hasPrefix(" \(name): ") { undocumented.append(name) }
    }
}

@Suite(.timeLimit(.minutes(5))) struct InterfaceTests {
    private static let directory = URL(filePath: #filePath).appending(path: "../../../dbus").standardized

    private func file(_ interface: String) throws -> String {
        try String(contentsOf: Self.directory.appending(path: "\(interface).xml"), encoding: .utf8)
    }

    @Test(arguments: [
        ControlNames.manager, ControlNames.cloud, ControlNames.job, ControlNames.recorder,
        ControlNames.session,
    ])
    func everyMemberIsDocumented(_ interface: String) throws {
        #expect(InterfaceReader(try file(interface)).undocumented == [])
    }

    @Test func theDescriptionsAreWhatIsServed() async throws {
        try await Harness.with { harness in
            await harness.model.set(hangs: true)
            let job = try #require(
                try await harness.call("Scan", [.uint32(60), .properties([:])]).first?.asObjectPath)
            let objects = [
                (ControlNames.root, ControlNames.manager), (ControlNames.root, ControlNames.cloud),
                (job, ControlNames.job),
                (ControlObject.recorder.path(of: Fixtures.recorder.id), ControlNames.recorder),
                (ControlObject.session.path(of: Fixtures.session.id), ControlNames.session),
            ]
            for (path, interface) in objects {
                let introspectable = "org.freedesktop.DBus.Introspectable"
                let served = try await harness.call("Introspect", [], path: path, interface: introspectable)
                let all = InterfaceReader(served.first?.asString ?? "").members
                let own = all.filter { $0.contains(" \(interface).") }
                #expect(own == InterfaceReader(try file(interface)).members)
                #expect(own.count > 5)
            }
        }
    }

    /// The handler tables, written out by the exporter's own generator, say the same as the files.
    @Test func theHandlersAreWhatIsDescribed() throws {
        let options: @Sendable (IncomingCall) async throws(DBusError) -> [DBusValue] = {
            _ throws(DBusError) in []
        }
        let manager = ExportedInterface(
            ControlNames.manager,
            methods: ManagerMethod.allCases.map {
                ExportedMethod($0.rawValue, in: $0.inputs, out: $0.outputs, options)
            },
            properties: [
                ExportedProperty("Version", .string) { nil }, ExportedProperty("ApiVersion", .uint32) { nil },
            ],
            signals: [ExportedSignal("Changed", [ExportedArgument("kinds", .array(.string))])])
        let job = ExportedInterface(
            ControlNames.job,
            methods: JobMethod.allCases.map {
                ExportedMethod($0.rawValue, in: $0.inputs, out: $0.outputs, options)
            },
            properties: [
                ExportedProperty("Kind", .string) { nil }, ExportedProperty("State", .string) { nil },
            ],
            signals: [ExportedSignal("Changed")])
        let cloud = ExportedInterface(
            ControlNames.cloud,
            methods: CloudMethod.allCases.map {
                ExportedMethod($0.rawValue, in: $0.inputs, out: $0.outputs, options)
            })
        let objects = ControlObject.allCases.map { kind in
            ExportedInterface(
                kind.interface,
                methods: kind.methods.map {
                    ExportedMethod($0.name, in: $0.inputs, out: $0.outputs, options)
                },
                properties: kind.properties.map { ExportedProperty($0.name, $0.type) { nil } })
        }
        for interface in [manager, cloud, job] + objects {
            let described = InterfaceReader(try file(interface.name)).members
            #expect(InterfaceReader(interface.introspection).members == described)
        }
    }

    @Test func thePolicyNamesEveryInterface() throws {
        let policy = try String(
            contentsOf: Self.directory.appending(path: "life.ccdw.Celestia1.conf"), encoding: .utf8)
        for interface in [
            ControlNames.manager, ControlNames.cloud, ControlNames.job, ControlNames.recorder,
            ControlNames.session, "org.freedesktop.DBus.Properties",
        ] {
            #expect(policy.contains("send_interface=\"\(interface)\""))
        }
        #expect(policy.contains("<allow own=\"\(ControlNames.busName)\"/>"))
    }
}
