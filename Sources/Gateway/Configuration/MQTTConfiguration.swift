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
