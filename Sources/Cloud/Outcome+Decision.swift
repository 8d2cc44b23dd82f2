package import HTTP

/// A failure below HTTP, as far as the decision depends on it.
package struct HTTPFailure: Sendable, Equatable {
    package let code: HTTPError.Code
    /// Whether any byte went out: when false the server cannot have acted.
    package let requestSent: Bool

    package init(_ code: HTTPError.Code, requestSent: Bool) {
        self.code = code
        self.requestSent = requestSent
    }

    package init(_ error: HTTPError) {
        self.init(error.code, requestSent: error.requestSent)
    }
}

extension Outcome {
    /// The one place where an answer or its absence becomes a next step. Pure; upload.md section 6.
    package static func of(_ result: CallResult) -> Outcome {
        if let failure = result.transport { return of(failure, call: result.call) }
        switch result.status {
        case 200...299: return ofSuccessStatus(result)
        case 300...399: return .hold(.redirected)
        case 400...599: return of(status: result.status, result)
        default: return .hold(.hostNotCelestia)
        }
    }

    /// Nobody knows whether the server acted: repeat only what may be repeated.
    private static func unknown(_ call: CallKind, after delay: Duration? = nil) -> Outcome {
        call.isRepeatable ? .retry(after: delay) : .ambiguous(after: delay)
    }

    // MARK: No answer

    private static func of(_ failure: HTTPFailure, call: CallKind) -> Outcome {
        switch failure.code {
        case .tlsNotYetValid: .hold(.clockUnsynced)
        case .tlsUntrusted: .hold(.tlsUntrusted)
        case .invalidRequest: .terminal(.invalidCall)
        case .source: .terminal(.localFile)
        case .notHTTP where !failure.requestSent || call.isRepeatable: .hold(.hostNotCelestia)
        // Even these may follow a first sending on a used connection that died.
        case .resolve, .connect, .tls, .timeout, .stalled, .send, .receive, .emptyReply, .truncated, .notHTTP,
            .bodyTooLarge,
            .headersTooLarge, .sink, .sinkFull, .cancelled, .other:
            failure.requestSent ? unknown(call) : .retry(after: nil)
        }
    }

    // MARK: 2xx

    private static func ofSuccessStatus(_ result: CallResult) -> Outcome {
        switch result.body {
        case .content:
            return result.call == .downloadAsset ? .success : .hold(.hostNotCelestia)
        case .foreign:
            // A captive portal answers everything with 200 and HTML (C-3).
            return .hold(.hostNotCelestia)
        case .empty:
            if result.status == 204, !result.call.needsData { return .success }
            return result.call == .downloadAsset ? .success : unknown(result.call, after: result.retryAfter)
        case .envelope(let code, let isUsable):
            guard APIAssumptions.isSuccess(code: code) else {
                // The envelope's own code is an error even under a 2xx (C-1).
                guard (400...599).contains(code) else {
                    return unknown(result.call, after: result.retryAfter)
                }
                return of(status: Int(code), result)
            }
            guard result.call != .downloadAsset else { return .retry(after: result.retryAfter) }
            return isUsable ? .success : unknown(result.call, after: result.retryAfter)
        }
    }

    // MARK: Errors

    private static func of(status: Int, _ result: CallResult) -> Outcome {
        let call = result.call
        let after = result.retryAfter
        switch status {
        case 401: return ofUnauthorized(result)
        case 413: return ofTooLarge(result)
        case 408, 421, 423, 425, 429, 503: return .retry(after: after)
        // The part that we have is not a part of what the server has.
        case 416 where call == .downloadAsset: return .reinit
        case 407, 511: return .hold(.hostNotCelestia)
        case 500...599: return unknown(call, after: after)
        default: break
        }
        // A gateway's own 404 or 403 says nothing about what the API knows: only its envelope does.
        guard case .envelope = result.body else {
            return .hold(status == 403 ? .forbidden : .hostNotCelestia)
        }
        if call == .refresh, [400, 403, 404, 410, 422].contains(status) { return .hold(.authRequired) }
        switch status {
        case 402, 403: return .hold(.forbidden)
        case 404: return ofNotFound(call)
        case 405: return .hold(.hostNotCelestia)
        case 409: return ofConflict(result)
        case 410: return ofExpired(call)
        case 400, 422:
            // A slice that the server finds wrong: begin the upload anew once (C-67, C-69).
            return call == .uploadChunk || call == .completeUpload ? .reinit : .terminal(.rejected)
        default: return .terminal(.rejected)
        }
    }

    private static func ofUnauthorized(_ result: CallResult) -> Outcome {
        switch result.call {
        case .login: return .terminal(.credentialsRejected)
        case .register, .health: return .terminal(.rejected)
        case .refresh: return .hold(.authRequired)
        default: break
        }
        switch result.authorization {
        case .current: return .reauth
        // The token was just renewed: it is the old password that is wrong.
        case .refreshed where result.call == .changePassword: return .terminal(.credentialsRejected)
        case .refreshed: return .retry(after: result.retryAfter)
        case .revoked: return .hold(.authRequired)
        }
    }

    /// The API's 413 names the bytes it wants; a gateway's does not (C-4).
    private static func ofTooLarge(_ result: CallResult) -> Outcome {
        let quota = Outcome.hold(.quota(required: result.requiredBytes, remaining: result.remainingBytes))
        if result.requiredBytes != nil { return quota }
        guard case .envelope = result.body else { return .hold(.gatewayLimit) }
        switch result.call {
        case .uploadAsset, .initUpload, .completeUpload: return quota
        default: return .hold(.gatewayLimit)
        }
    }

    private static func ofNotFound(_ call: CallKind) -> Outcome {
        switch call {
        case .unbindDevice: .success
        case .downloadAsset: .terminal(.gone)
        case .updateDevice, .uploadAsset, .initUpload, .uploadChunk, .completeUpload: .reinit
        default: .hold(.hostNotCelestia)
        }
    }

    private static func ofConflict(_ result: CallResult) -> Outcome {
        switch result.call {
        case .register, .updateProfile: .terminal(.alreadyExists)
        case .upsertSession, .uploadAsset, .initUpload: .conflict(serverRevision: result.serverRevision)
        // Merging, or merged already: look the asset up.
        case .completeUpload: .ambiguous(after: result.retryAfter)
        default: .retry(after: result.retryAfter)
        }
    }

    private static func ofExpired(_ call: CallKind) -> Outcome {
        switch call {
        case .uploadAsset, .initUpload, .uploadChunk, .completeUpload, .updateDevice: .reinit
        case .unbindDevice: .success
        case .downloadAsset: .terminal(.gone)
        default: .hold(.hostNotCelestia)
        }
    }
}
