import CCurl

/// Gives libcurl's failures the names that callers decide by.
enum CurlFailure {
    /// X509_V_ERR_CERT_NOT_YET_VALID of OpenSSL.
    private static let notYetValid = 9

    static func kind(of code: CURLcode, tlsVerdict: Int) -> HTTPError.Code {
        switch code {
        case CURLE_OK, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_BAD_CONTENT_ENCODING: .notHTTP
        // Without HTTP/0.9 this is what an answer that does not begin with HTTP/ gives.
        case CURLE_UNSUPPORTED_PROTOCOL: .notHTTP
        case CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT: .invalidRequest
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_PROXY: .connect
        case CURLE_PEER_FAILED_VERIFICATION: tlsVerdict == notYetValid ? .tlsNotYetValid : .tlsUntrusted
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS:
            .tlsUntrusted
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ENGINE_NOTFOUND:
            .tls
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND: .send
        case CURLE_RECV_ERROR: .receive
        case CURLE_GOT_NOTHING: .emptyReply
        case CURLE_PARTIAL_FILE: .truncated
        case CURLE_FILESIZE_EXCEEDED: .bodyTooLarge
        case CURLE_WRITE_ERROR: .sink
        case CURLE_READ_ERROR: .source
        default: .other
        }
    }
}
