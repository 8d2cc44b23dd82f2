/// Failures of the network as people are told of them.
extension HTTPError {
    /// What happened, with the host that it happened with.
    package func explanation(host: String) -> String {
        switch code {
        case .resolve: "the name \(host) cannot be resolved (\(message))"
        case .connect: "no connection to \(host) (\(message))"
        case .tls where speaksNoTLS: "what answers at \(host) does not speak TLS"
        case .tls: "no secure connection to \(host) (\(message))"
        case .tlsUntrusted: "the certificate of \(host) is not trusted (\(message))"
        case .tlsNotYetValid: "the certificate of \(host) is not valid yet (\(message))"
        case .timeout: "\(host) did not answer in time (\(message))"
        case .stalled: "the transfer with \(host) came to a stop (\(message))"
        case .send, .receive, .truncated: "the connection to \(host) broke (\(message))"
        case .emptyReply: "\(host) closed the connection without an answer"
        case .notHTTP: "what answers at \(host) does not speak HTTP as it should (\(message))"
        case .bodyTooLarge, .headersTooLarge: "\(host) answered with more than the API ever does (\(message))"
        case .invalidRequest, .source, .sink, .sinkFull, .cancelled, .other: message
        }
    }

    /// What an operator can do about it.
    package var hint: String? {
        switch code {
        case .resolve: "check DNS and the network connection"
        case .connect: "check the network, and [Cloud] URL; the service may be down for a while"
        case .tls where speaksNoTLS:
            "check host and port of [Cloud] URL; plain http is allowed to this machine only"
        case .tls: "check host and port of [Cloud] URL, and what is in between"
        case .tlsNotYetValid: "check the system clock: time synchronisation may not have finished"
        case .tlsUntrusted: "check the CA file and the pinned key, and who answers at this address"
        case .timeout, .stalled, .send, .receive, .truncated, .emptyReply:
            "the network or the service is in trouble: try again later"
        case .notHTTP, .bodyTooLarge, .headersTooLarge:
            "check host and port of [Cloud] URL: the Celestia API does not answer so"
        case .invalidRequest, .source, .sink, .sinkFull, .cancelled, .other: nil
        }
    }

    /// How OpenSSL takes plain text for a TLS record, in the words of its versions.
    private var speaksNoTLS: Bool {
        ["wrong version number", "packet length too long", "http request"].contains { text in
            message.indices.contains { message[$0...].hasPrefix(text) }
        }
    }
}
