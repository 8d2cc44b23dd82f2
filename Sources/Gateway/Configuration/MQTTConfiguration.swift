import HTTP

/// The MQTT broker that Home Assistant listens to.
package struct MQTTConfiguration: Sendable, Equatable {
    package var host = ""
    /// 0: the usual one, with TLS or without.
    package var givenPort: UInt16 = 0
    package var usesTLS = false
    package var caFile: String?
    package var username: String?
    /// The file with the password; nil: none was named.
    package var passwordFile: String?
    /// Where the systemd credential celestiad.mqtt-password would be.
    package var credentialFile: String?
    package var discoveryPrefix = "homeassistant"
    package var topicPrefix = "celestiad"

    package var port: UInt16 { givenPort > 0 ? givenPort : usesTLS ? 8883 : 1883 }

    package init() {}

    /// The broker as it is told of.
    package var address: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// What is wrong with how the password is sent, where there is one; nil: nothing.
    package func exposure(hasPassword: Bool) -> String? {
        guard hasPassword, username != nil, !host.isEmpty, !usesTLS, !HTTPURL.isLoopback(host.lowercased())
        else { return nil }
        return "the password for the MQTT broker \(host) goes over the network unencrypted"
    }

    /// What to do about that.
    package static let exposureHint =
        "set [MQTT] TLS=yes where the broker takes it; else give it a password that is used nowhere else"

    /// Whether it may begin a topic: no level of it is empty or a wildcard.
    static func isTopic(_ text: String) -> Bool {
        text.utf8.count <= 100
            && text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { level in
                !level.isEmpty
                    && level.unicodeScalars.allSatisfy {
                        $0.isASCII
                            && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "-"
                                || $0 == "_")
                    }
            }
    }
}
