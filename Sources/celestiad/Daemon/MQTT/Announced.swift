import Control
import FoundationEssentials
import Gateway

/// What brokers were given to keep. It outlives the daemon and its configuration, so that it can be taken back when a
/// prefix, the broker or a recorder is another one. Pure.
struct Announced: Sendable, Equatable {
    struct Broker: Sendable, Equatable {
        /// How it is reached; the password is where they say.
        var settings: MQTTConfiguration
        /// Retained messages of ours that it may have.
        var topics: Set<String>
        /// Since when it is not the configured one any more, in seconds since 1970; 0: it is.
        var formerSince: Int64 = 0
    }

    private(set) var brokers: [Broker] = []

    static let maximumBrokers = 8
    static let maximumTopics = 4096
    /// How long one that is not reached is tried again: a week.
    static let patience: Int64 = 7 * 86_400

    /// Those that are not configured any more.
    var formers: [Broker] { brokers.filter { $0.formerSince > 0 } }
    /// What the configured one has.
    var topics: Set<String> { brokers.first { $0.formerSince == 0 }?.topics ?? [] }

    /// From now on this is the broker; with no host there is none. Returns those that are given up.
    mutating func configure(_ settings: MQTTConfiguration, now: Int64) -> [Broker] {
        for index in brokers.indices {
            if brokers[index].settings.isSameBroker(as: settings) {
                (brokers[index].settings, brokers[index].formerSince) = (settings, 0)
            } else if brokers[index].formerSince == 0 {
                brokers[index].formerSince = max(1, now)
            }
        }
        if !settings.host.isEmpty, !brokers.contains(where: { $0.formerSince == 0 }) {
            brokers.append(Broker(settings: settings, topics: []))
        }
        brokers.removeAll { $0.formerSince > 0 && $0.topics.isEmpty }
        return giveUp(now: now)
    }

    /// Lets go of those that were not reached for long, and of the oldest where there are too many.
    mutating func giveUp(now: Int64) -> [Broker] {
        let byAge = formers.sorted { $0.formerSince < $1.formerSince }
        let tooMany = byAge.prefix(max(0, brokers.count - Self.maximumBrokers))
        let lost = byAge.filter { now - $0.formerSince > Self.patience || tooMany.contains($0) }
        brokers.removeAll { lost.contains($0) }
        return lost
    }

    /// The configured broker has these, or is about to be given them.
    mutating func note(_ topics: Set<String>) {
        guard let index = brokers.firstIndex(where: { $0.formerSince == 0 }) else { return }
        brokers[index].topics =
            topics.count > Self.maximumTopics ? Set(topics.sorted().prefix(Self.maximumTopics)) : topics
    }

    mutating func forget(_ former: Broker) {
        brokers.removeAll { $0 == former }
    }
}

extension Announced {
    /// As it lies on the disk.
    var json: JSONValue {
        .array(
            brokers.map { broker in
                let settings = broker.settings
                var fields: [String: JSONValue] = [
                    "host": .string(settings.host), "port": .integer(Int64(settings.port)),
                    "tls": .boolean(settings.usesTLS), "former_since": .integer(broker.formerSince),
                    "topics": .array(broker.topics.sorted().map(JSONValue.string)),
                ]
                fields["ca_file"] = settings.caFile.map(JSONValue.string)
                fields["username"] = settings.username.map(JSONValue.string)
                fields["password_file"] = settings.passwordFile.map(JSONValue.string)
                fields["credential_file"] = settings.credentialFile.map(JSONValue.string)
                return .object(fields)
            })
    }

    /// What of it can be used.
    init(_ json: JSONValue) {
        guard case .array(let values) = json else { return }
        brokers = values.prefix(Self.maximumBrokers).compactMap { value in
            guard case .object(let fields) = value, case .string(let host) = fields["host"],
                !host.isEmpty, host.utf8.count <= 255,
                host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }),
                case .integer(let number) = fields["port"], let port = UInt16(exactly: number), port > 0,
                case .array(let topics) = fields["topics"], case .integer(let since) = fields["former_since"]
            else { return nil }
            func text(_ key: String) -> String? {
                guard case .string(let text) = fields[key], !text.utf8.contains(0) else { return nil }
                return text
            }
            var settings = MQTTConfiguration()
            (settings.host, settings.givenPort) = (host, port)
            if case .boolean(true) = fields["tls"] { settings.usesTLS = true }
            settings.caFile = text("ca_file")
            settings.username = text("username")
            settings.passwordFile = text("password_file")
            settings.credentialFile = text("credential_file")
            return Broker(
                settings: settings, topics: Set(topics.prefix(Self.maximumTopics).compactMap(Self.topic)),
                formerSince: max(0, since))
        }
    }

    /// A topic such as ours are, no pattern.
    private static func topic(_ value: JSONValue) -> String? {
        guard case .string(let text) = value, !text.isEmpty, text.utf8.count <= 400,
            text.utf8.allSatisfy({ byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || [0x2D, 0x2F, 0x5F].contains(byte)
            })
        else { return nil }
        return text
    }
}

extension MQTTConfiguration {
    /// Whether what was announced there is announced here: the address decides, not who we are to it.
    fileprivate func isSameBroker(as other: MQTTConfiguration) -> Bool {
        host.lowercased() == other.host.lowercased() && port == other.port
    }
}
