/// Why BlueZ could not connect a device: the end of its reason text (src/error.h), whose beginning differs by bearer
/// and whose spelling by version.
package enum ConnectFailure: String, Sendable, Hashable, CaseIterable {
    case invalidArguments = "invalid-arguments"
    case adapterNotPowered = "adapter-not-powered"
    case notSupported = "not-supported"
    case alreadyConnected = "already-connected"
    case badSocket = "bad-socket"
    case memoryAllocation = "memory-allocation"
    case busy
    case refused
    case createSocket = "create-socket"
    case timeout
    case concurrentConnectionLimit = "concurrent-connection-limit"
    case abortByRemote = "abort-by-remote"
    case abortByLocal = "abort-by-local"
    case linkLayerProtocolError = "link-layer-protocol-error"
    case gattBrowsing = "gatt-browsing"
    /// The device has lost the keys of the bond, or we have.
    case keyMissing = "key-missing"
    /// Disconnect was called while the device was being connected.
    case canceled
    case pageTimeout = "page-timeout"
    case profileUnavailable = "profile-unavailable"
    case sdpSearch = "sdp-search"
    /// A reason that this version does not know.
    case unknown

    /// The reason in the message of an error of Connect or Pair; nil when it has none.
    init?(_ text: String) {
        for prefix in ["le-connection-", "br-connection-"] where text.hasPrefix(prefix) {
            var reason = String(text.dropFirst(prefix.count))
            // BR/EDR texts say "aborted-by-".
            if reason.hasPrefix("aborted-by-") { reason = "abort-by-" + reason.dropFirst(11) }
            self = ConnectFailure(rawValue: reason) ?? .unknown
            return
        }
        guard let failure = Self.systemTexts[text] else { return nil }
        self = failure
    }

    /// Texts of strerror that BlueZ passes on where it has no reason of its own.
    private static let systemTexts: [String: ConnectFailure] = [
        "Software caused connection abort": .abortByLocal,
        "Connection reset by peer": .abortByRemote,
        "Connection refused": .refused,
        "Connection timed out": .timeout,
        "Device or resource busy": .busy,
        "Host is down": .timeout,
        "Page Timeout": .pageTimeout,
        "Too many links": .concurrentConnectionLimit,
    ]

    /// Whether trying again later can help.
    package var isTransient: Bool {
        switch self {
        case .invalidArguments, .notSupported, .keyMissing, .profileUnavailable: false
        default: true
        }
    }
}
