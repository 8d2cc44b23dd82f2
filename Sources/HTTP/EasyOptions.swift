import CCurl

/// Sets options on an easy handle and remembers the first that libcurl refused.
struct EasyOptions {
    let easy: UnsafeMutableRawPointer
    private(set) var refused: CURLoption?

    init(easy: UnsafeMutableRawPointer) {
        self.easy = easy
    }

    mutating func set(_ option: CURLoption, _ value: Int) {
        note(celestiad_curl_set_long(easy, option, value), option)
    }

    mutating func set(_ option: CURLoption, offset value: Int64) {
        note(celestiad_curl_set_offset(easy, option, curl_off_t(value)), option)
    }

    mutating func set(_ option: CURLoption, _ value: String) {
        note(celestiad_curl_set_string(easy, option, value), option)
    }

    mutating func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        note(celestiad_curl_set_pointer(easy, option, value), option)
    }

    mutating func set(_ option: CURLoption, milliseconds value: Duration) {
        let (seconds, attoseconds) = value.components
        let whole = min(max(seconds, 0), 1_000_000)
        // 0 would mean libcurl's default, not at once.
        set(option, max(1, Int(whole) * 1000 + Int(attoseconds / 1_000_000_000_000_000)))
    }

    mutating func note(_ code: CURLcode, _ option: CURLoption) {
        if code != CURLE_OK, refused == nil { refused = option }
    }
}

extension EasyOptions {
    /// What every request has in common (upload.md 2.3).
    mutating func setCommon(_ configuration: HTTPConfiguration) {
        set(CURLOPT_NOSIGNAL, 1)
        // HTTP/2 uploads of libcurl < 8.1 are three times slower and spin when the server stops reading.
        set(CURLOPT_HTTP_VERSION, celestiad_curl_http_version_1_1())
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_UNRESTRICTED_AUTH, 0)
        set(CURLOPT_FAILONERROR, 0)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, 30)
        set(CURLOPT_TCP_KEEPINTVL, 15)
        // Shorter than servers keep idle connections, so that a dead one is rarely reused.
        set(CURLOPT_MAXAGE_CONN, 30)
        set(CURLOPT_MAXLIFETIME_CONN, 600)
        set(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
        // Without it, removing a handle whose name is still being resolved joins the resolver's thread and
        // blocks the loop for as long as DNS does.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, celestiad_curl_tls_1_2())
        set(CURLOPT_USERAGENT, configuration.userAgent)
        if let file = configuration.caFile { set(CURLOPT_CAINFO, file) }
        if let key = configuration.pinnedPublicKey { set(CURLOPT_PINNEDPUBLICKEY, key) }
        switch configuration.addressFamily {
        case .any: break
        case .ipv4: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .ipv6: set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
    }

    /// Address, deadlines and what else follows from the request's values alone.
    mutating func setRequest(_ request: HTTPRequest) {
        set(CURLOPT_URL, request.url.description)
        set(CURLOPT_PROTOCOLS_STR, request.url.scheme.rawValue)
        if request.url.scheme == .http { set(CURLOPT_PROXY, "") }
        set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds: request.deadlines.connect)
        set(CURLOPT_TIMEOUT_MS, milliseconds: request.deadlines.total)
        if let rule = request.deadlines.lowSpeed {
            set(CURLOPT_LOW_SPEED_LIMIT, rule.bytesPerSecond)
            set(CURLOPT_LOW_SPEED_TIME, Int(rule.window.components.seconds))
        }
        if request.freshConnection { set(CURLOPT_FRESH_CONNECT, 1) }
    }

    /// Bytes per second.
    mutating func setSendLimit(_ limit: Int64) {
        set(CURLOPT_MAX_SEND_SPEED_LARGE, offset: max(1, limit))
        // A buffer above the limit overshoots it at the start.
        set(CURLOPT_UPLOAD_BUFFERSIZE, Int(min(max(limit, 16 << 10), 256 << 10)))
    }
}
