/// What all requests of one client share.
package struct HTTPConfiguration: Sendable {
    package enum AddressFamily: Sendable {
        case any, ipv4, ipv6
    }

    /// Sent as `User-Agent`.
    package var userAgent: String
    /// A PEM file that replaces the system's certificate authorities.
    package var caFile: String?
    /// `sha256//…` as CURLOPT_PINNEDPUBLICKEY takes it; the certificate must be valid as well.
    package var pinnedPublicKey: String?
    /// For networks that resolve addresses of a family they cannot route.
    package var addressFamily: AddressFamily
    /// Connections kept for reuse.
    package var maximumConnections: Int
    /// How often the watchdog looks.
    var watchdogPeriod = Duration.seconds(5)

    package init(
        userAgent: String = "celestiad", caFile: String? = nil, pinnedPublicKey: String? = nil,
        addressFamily: AddressFamily = .any, maximumConnections: Int = 8
    ) {
        self.userAgent = userAgent
        self.caFile = caFile
        self.pinnedPublicKey = pinnedPublicKey
        self.addressFamily = addressFamily
        self.maximumConnections = maximumConnections
    }
}
