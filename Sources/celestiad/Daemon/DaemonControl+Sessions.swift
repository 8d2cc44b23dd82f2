import CaptureQueue
import Cloud
import Control
import DBus
import FoundationEssentials
import Gateway
import Glibc

/// Sessions, as users see them and act on them.
extension DaemonControl {
    func sessions(_ query: SessionQuery) async throws(ControlError) -> Control.SessionPage {
        var filter = query.attention ? SessionFilter.attention : .all
        if let text = query.state {
            guard let state = SessionState(rawValue: text) else {
                throw ControlError(
                    .invalidArgument, "there is no session state \(Terminal.printable(text))",
                    hint: "the states are: \(SessionState.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            guard !query.attention else {
                throw ControlError(.invalidArgument, "state and attention do not go together")
            }
            filter = .state(state)
        }
        do throws(QueueError) {
            let page = try await gateway.queue.sessions(
                filter, recorder: query.recorder, offset: query.offset,
                limit: min(max(query.limit, 1), SessionQuery.maximumLimit))
            return Control.SessionPage(
                total: try await gateway.queue.sessionCount(filter, recorder: query.recorder),
                offset: query.offset,
                sessions: page.sessions.map { SessionDocument($0) })
        } catch {
            throw refusal(error)
        }
    }

    func session(_ id: String) async throws(ControlError) -> SessionDocument {
        do throws(QueueError) {
            return try await document(try await find(id))
        } catch {
            throw refusal(error)
        }
    }

    func act(_ action: SessionAction, on id: String) async throws(ControlError) -> SessionDocument {
        let queue = gateway.queue
        do throws(QueueError) {
            let session = try await find(id)
            switch action {
            case .reconcile: _ = try await queue.requestReconcile(session)
            case .retry: _ = try await queue.retry(session)
            case .cancel: try await queue.cancel(session)
            case .pause: try await queue.pause(session)
            case .resume: try await queue.resume(session)
            case .purge: try await queue.purge(session)
            }
            gateway.log.notice(
                "session \(session): \(action.rawValue.lowercased()), as a user asked", .sessionChanged,
                session: session.text)
            return try await document(session)
        } catch {
            throw refusal(error)
        }
    }

    func objects() async throws(ControlError) -> ControlObjects {
        var query = SessionQuery()
        query.limit = ControlObjects.maximumSessions
        return ControlObjects(recorders: try await recorders(), sessions: try await sessions(query).sessions)
    }

    func migrate(_ id: String) async throws(ControlError) -> SessionDocument {
        do throws(QueueError) {
            let old = try await find(id)
            let host = gateway.api.base.description
            let new = try await gateway.queue.migrate(old, to: host)
            gateway.log.notice(
                "session \(old): moved to \(host) as session \(new), as a user asked", .sessionChanged,
                session: old.text)
            return try await document(new)
        } catch {
            throw refusal(error)
        }
    }

    func openAsset(_ id: String) async throws(ControlError) -> SharedFD {
        guard let asset = AssetID(id) else {
            throw ControlError(
                .invalidArgument, "a file is named by the id that celestiad session --json shows")
        }
        do throws(QueueError) {
            let file = try await gateway.queue.openForReading(asset)
            let copy = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw QueueError(.io, "no file descriptor is left") }
            return SharedFD(copy)
        } catch {
            throw refusal(error)
        }
    }

    func storage() async throws(ControlError) -> StorageReportDocument {
        do throws(QueueError) {
            let report = try await gateway.queue.storageReport()
            let directory = gateway.configuration.stateDirectory
            let disk = report.space.map { space in
                DiskDocument(
                    path: directory, totalBytes: space.total, freeBytes: space.free,
                    reserveBytes: report.reserve,
                    state: report.lowSince != nil || space.free < report.reserve ? "low" : "ok")
            }
            return StorageReportDocument(
                disk: disk, lowSince: report.lowSince, databaseBytes: report.database,
                ballastBytes: report.ballast,
                storedBytes: report.stored, unsentBytes: report.unsent, keptBytes: report.kept,
                nextRelease: report.nextRelease, cancelledBytes: report.cancelled,
                damagedFiles: report.troubles.damagedFiles,
                state: report.troubles.setAside.isEmpty ? "ok" : "degraded",
                setAside: report.troubles.setAside.map { "\(directory)/\($0)" },
                misfit: report.troubles.misfit?.message,
                refused: try await gateway.queue.refusedFiles().map {
                    RefusedFileDocument(path: $0.path, reason: $0.refusal, since: $0.since)
                },
                undescribed: report.troubles.undescribed.map { "\(directory)/spool/\($0)" })
        } catch {
            throw refusal(error)
        }
    }

    func importFile(_ request: ImportRequest) async throws(ControlError) -> ImportDocument {
        guard let source = SourceKind(rawValue: request.source ?? SourceKind.dslrImport.rawValue),
            source != .recorder
        else {
            throw ControlError(
                .invalidArgument, "there is no source \(Terminal.printable(request.source ?? ""))",
                hint: "it is dslr_import, mobile_photo, mobile_scan or watched_folder")
        }
        let copy = fcntl(request.file.rawValue, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw ControlError(.failed, "no file descriptor is left") }
        do throws(QueueError) {
            let outcome = try await gateway.importFile(
                OfferedFile(
                    descriptor: copy, name: request.name, path: request.path, source: source,
                    surface: "celestiad_import", step: "imported by celestiad import"))
            return ImportDocument(
                session: outcome.session.text,
                outcome: outcome.isRestored ? "restored" : outcome.isNew ? "imported" : "known")
        } catch {
            throw refusal(error)
        }
    }

    /// The queue's error as its caller is told of it; what is for the log goes there.
    private func refusal(_ error: QueueError) -> ControlError {
        if error.diagnosis != nil { gateway.log.error("\(error)") }
        return ControlError(error)
    }

    /// The session with this id, or the only one whose id begins so.
    private func find(_ id: String) async throws(QueueError) -> SessionID {
        let matches = try await gateway.queue.sessions(idPrefix: id)
        guard let match = matches.first else {
            throw QueueError(
                .notFound, "there is no session \(Terminal.printable(id))",
                hint: "celestiad sessions lists them")
        }
        guard matches.count == 1 || match.text == id.lowercased() else {
            throw QueueError(
                .invalidInput, "more than one session begins with \(Terminal.printable(id))",
                hint: "type more of the id")
        }
        return match
    }

    private func document(_ id: SessionID) async throws(QueueError) -> SessionDocument {
        guard let detail = try await gateway.queue.session(id) else {
            throw QueueError(.notFound, "there is no session \(id)")
        }
        return SessionDocument(detail)
    }
}

extension ControlError {
    /// What a refusal of the queue is to its caller.
    init(_ error: QueueError) {
        let code: Code =
            switch error.code {
            case .notFound, .assetMissing: .notFound
            case .invalidInput: .invalidArgument
            case .lowSpace, .doesNotFit, .diskFull: .diskLow
            default: .failed
            }
        self.init(code, error.message, hint: error.hint)
    }
}
