import BlueZ
import CaptureQueue
import Cloud
import DBus
import EventLoop
import FoundationEssentials
import Glibc
import HTTP
import Recorder

/// How the parts of the gateway are made.
extension Gateway {
    static func apiBase(_ configuration: Configuration) throws(GatewayError) -> APIBase {
        do throws(CloudError) {
            return try APIBase(configuration.cloudURL)
        } catch {
            throw GatewayError(
                .configuration, "[Cloud] URL=\(Terminal.printable(configuration.cloudURL)): \(error.message)",
                hint: error.hint)
        }
    }

    static func startLoop(_ name: String) throws(GatewayError) -> EventLoop {
        do throws(SystemError) {
            return try EventLoop.start(name: name)
        } catch {
            throw GatewayError(error)
        }
    }

    static func openQueue(
        _ configuration: Configuration, _ executor: EventLoop, _ log: Log,
        _ now: @escaping @Sendable () -> Date
    ) async throws(GatewayError) -> CaptureQueue {
        var settings = QueueConfiguration(directory: configuration.stateDirectory, now: now)
        settings.reservedBytes = configuration.reservedMiB << 20
        settings.reservedPercent = configuration.reservedPercent
        settings.keepAfterUpload = configuration.keepAfterUpload
        let queue = CaptureQueue(settings, executor: executor)
        do throws(QueueError) {
            let report = try await queue.open()
            tell(report, log)
            return queue
        } catch {
            let failure = GatewayError(error)
            throw GatewayError(
                failure.code, failure.message,
                hint: failure.hint
                    ?? "celestiad must be able to write there; [General] StateDirectory names another directory."
            )
        }
    }

    /// Says what the start found that is out of the ordinary.
    static func tell(_ report: StartReport, _ log: Log) {
        if !report.wasClean, !report.isNew {
            log.notice("the last run did not end in order; the queue was checked", .queueChecked)
        }
        if let name = report.setAside {
            let what =
                report.finding.map { "was damaged (\($0)); it is kept as \(name), and the queue" }
                ?? "was missing although there are files in the spool (a note of it is \(name)); the queue"
            log.error(
                "the queue's database \(what) was made anew from the files in the spool; what only the database knew"
                    + " is gone: pauses, edits of titles, and the history of files that are not here any more",
                .queueRemade)
        }
        if report.isUnverified {
            log.warning("a flush to the disk had failed: every stored file is read again")
        }
        if !report.adoptedSessions.isEmpty {
            log.warning("\(report.adoptedSessions.count) sessions were rebuilt from the spool")
        }
        if !report.adoptedAssets.isEmpty {
            log.notice(
                "\(report.adoptedAssets.count) files were complete in the spool and are in the queue now")
        }
        if !report.lostAssets.isEmpty {
            log.error(
                "\(report.lostAssets.count) stored files are gone or changed; celestiad sessions --attention shows which",
                .filesLost)
        }
        if !report.unreadAssets.isEmpty {
            log.error(
                "\(report.unreadAssets.count) stored files could not be read; they are looked at again at the next start",
                .filesLost)
        }
        if !report.undescribed.isEmpty {
            log.error(
                "\(report.undescribed.count) sessions in the spool have files, but no description that can be read;"
                    + " celestiad storage shows where they lie")
        }
        if report.ambiguous > 0 {
            log.notice(
                "\(report.ambiguous) requests to the cloud are of unknown outcome and are looked up first")
        }
        if !report.foreign.isEmpty {
            log.warning("\(report.foreign.count) things in the spool are not celestiad's and are left alone")
        }
    }

    static func openHTTP(
        _ configuration: Configuration, _ loop: EventLoop
    ) throws(GatewayError) -> HTTPClient {
        do throws(HTTPError) {
            return try HTTPClient(
                loop: loop,
                configuration: HTTPConfiguration(
                    userAgent: "celestiad/\(Version.number)", caFile: configuration.cloudCAFile,
                    pinnedPublicKey: configuration.cloudPinnedKey))
        } catch {
            throw GatewayError(error)
        }
    }

    static func openBus(
        _ configuration: Configuration, _ loop: EventLoop
    ) async throws(GatewayError) -> Connection {
        do throws(DBusError) {
            return try await Connection.open(configuration.busAddress, on: loop)
        } catch {
            throw GatewayError(error)
        }
    }

    /// What binds the credentials to this machine; systemd gives every installation one (machine-id(5)).
    static func machineID() -> String {
        guard let file = fopen("/etc/machine-id", "re") else { return "unknown" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
    }
}
