import Control
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Gateway
@testable import celestiad

/// What brokers were given to keep, over changes of the configuration and over restarts.
@Suite struct AnnouncedTests {
    private static func broker(_ host: String, _ port: UInt16 = 0) -> MQTTConfiguration {
        var settings = MQTTConfiguration()
        (settings.host, settings.givenPort) = (host, port)
        return settings
    }

    private static let none = MQTTConfiguration()

    private static func announced(_ brokers: (MQTTConfiguration, Set<String>)...) -> Announced {
        var announced = Announced()
        for (index, (settings, topics)) in brokers.enumerated() {
            #expect(announced.configure(settings, now: Int64(index + 1)).isEmpty)
            announced.note(topics)
        }
        return announced
    }

    @Test func aBrokerThatIsNotConfiguredAnyMoreIsRemembered() {
        var announced = Self.announced((Self.broker("a"), ["x", "y"]), (Self.broker("b"), ["z"]))
        #expect(announced.topics == ["z"])
        #expect(announced.formers.map(\.settings.host) == ["a"])
        #expect(announced.configure(Self.none, now: 3).isEmpty)
        #expect(announced.topics.isEmpty && announced.formers.map(\.topics) == [["x", "y"], ["z"]])
        // It is the one that it was, whoever we are to it.
        var again = Self.broker("A", 1883)
        again.username = "hub"
        _ = announced.configure(again, now: 4)
        #expect(announced.topics == ["x", "y"] && announced.formers.map(\.settings.host) == ["b"])
        #expect(announced.brokers.first?.settings.username == "hub")
        _ = announced.configure(Self.broker("A", 1884), now: 5)
        #expect(announced.formers.count == 2 && announced.topics.isEmpty)
        for former in announced.formers { announced.forget(former) }
        #expect(announced.formers.isEmpty && announced.brokers.count == 1)
        // Where nothing was announced, there is nothing to take back.
        _ = announced.configure(Self.none, now: 6)
        #expect(announced.brokers.isEmpty)
    }

    @Test func whoIsNotReachedIsGivenUp() {
        var announced = Self.announced((Self.broker("a"), ["x"]), (Self.broker("b"), ["y"]))
        let week = Announced.patience
        #expect(announced.giveUp(now: 2 + week).isEmpty)
        #expect(announced.giveUp(now: 3 + week).map(\.settings.host) == ["a"])
        #expect(announced.brokers.map(\.settings.host) == ["b"])
        for index in 0..<20 {
            _ = announced.configure(Self.broker("host\(index)"), now: Int64(100 + index))
            announced.note(["x"])
            #expect(announced.brokers.count <= Announced.maximumBrokers + 1)
        }
        #expect(announced.giveUp(now: 130).map(\.settings.host) == [])
        #expect(announced.brokers.count == Announced.maximumBrokers)
        #expect(announced.brokers.last?.settings.host == "host19")
        announced.note(Set((0..<10_000).map { "topic/\($0)" }))
        #expect(announced.topics.count == Announced.maximumTopics)
    }

    @Test func itIsReadAsItWasWritten() throws {
        var full = Self.broker("broker.example", 8884)
        (full.usesTLS, full.caFile, full.username) = (true, "/etc/ca.pem", "hub")
        (full.passwordFile, full.credentialFile) = ("/etc/password", "/run/credentials/x")
        let announced = Self.announced((full, ["ha/sensor/x_1-A/config"]), (Self.broker("b", 1), []))
        let text = String(decoding: try JSONEncoder().encode(announced.json), as: UTF8.self)
        #expect(Announced(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))) == announced)
    }

    /// The file is ours, and may be anything all the same.
    @Test(arguments: [
        "{}", "[]", "[1]", #"[{"host":"a"}]"#,
        #"[{"host":"","port":1,"former_since":0,"topics":[]}]"#,
        #"[{"host":"a b","port":1,"former_since":0,"topics":[]}]"#,
        #"[{"host":"a","port":0,"former_since":0,"topics":[]}]"#,
        #"[{"host":"a","port":65536,"former_since":0,"topics":[]}]"#,
        #"[{"host":"a","port":1,"former_since":0,"topics":"x"}]"#,
    ]) func whatCannotBeUsedIsLeftOut(_ text: String) throws {
        #expect(Announced(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))).brokers.isEmpty)
    }

    @Test func patternsAreNoTopics() throws {
        let text = ##"""
            [{"host":"a","port":1,"former_since":-5,"topics":["#","a/+","a b","","ok/x_-9","ü",1]}]
            """##
        let announced = Announced(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)))
        #expect(announced.topics == ["ok/x_-9"])
    }

    @Test func theBookOutlivesTheDaemon() async throws {
        let folder = TemporaryDirectory()
        let lines = Locked<[String]>([])
        let log = Log(level: .info) { _, line in lines.withLock { $0.append(line) } }
        let book = await AnnouncementBook.open(in: folder.path, log: log)
        await book.configure(Self.broker("a"))
        await book.note(["x"])
        let file = folder.path + "/mqtt-announced"
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let next = await AnnouncementBook.open(in: folder.path, log: log)
        await next.configure(Self.none)
        #expect(await next.formers.map(\.topics) == [["x"]])
        for former in await next.formers { await next.forget(former) }
        let last = await AnnouncementBook.open(in: folder.path, log: log)
        #expect(await last.formers.isEmpty)
        #expect(lines.withLock { $0 }.isEmpty)
        // It cannot be written: said once, and it goes on.
        let lost = await AnnouncementBook.open(in: folder.path + "/none", log: log)
        await lost.configure(Self.broker("a"))
        await lost.note(["x"])
        #expect(await lost.topics == ["x"])
        #expect(lines.withLock { $0 }.count == 1)
    }
}
