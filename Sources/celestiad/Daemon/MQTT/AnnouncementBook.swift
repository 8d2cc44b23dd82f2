import Control
import Dispatch
import FoundationEssentials
import Gateway

/// `Announced` with its file in the state directory.
actor AnnouncementBook {
    private let file: ReplacedFile
    private let log: Log
    private var announced: Announced
    private var hasFailed = false
    /// One after the other, and not on the cooperative pool.
    private let disk = DispatchQueue(label: "mqtt-announced")

    static let maximumBytes = 8 << 20

    private init(_ file: ReplacedFile, _ log: Log, _ announced: Announced) {
        (self.file, self.log, self.announced) = (file, log, announced)
    }

    static func open(in folder: String, log: Log) async -> AnnouncementBook {
        let path = "\(folder)/mqtt-announced"
        let text = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: SystemTree().text(path, limit: maximumBytes))
            }
        }
        let json = text.flatMap { try? JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) }
        return AnnouncementBook(
            ReplacedFile(path: path, mode: 0o600, isDurable: true), log, Announced(json ?? .array([])))
    }

    var formers: [Announced.Broker] { announced.formers }
    var topics: Set<String> { announced.topics }

    func configure(_ settings: MQTTConfiguration) async {
        await change { $0.configure(settings, now: Self.now) }
    }

    func giveUp() async { await change { $0.giveUp(now: Self.now) } }

    /// To be called before they are published, and after they are taken back.
    func note(_ topics: Set<String>) async {
        await change {
            $0.note(topics)
            return []
        }
    }

    func forget(_ former: Announced.Broker) async {
        await change {
            $0.forget(former)
            return []
        }
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    private func change(_ body: (inout Announced) -> [Announced.Broker]) async {
        let before = announced
        for lost in body(&announced) {
            log.warning(
                "MQTT: what was announced at \(lost.settings.address) could not be taken back: if that is another broker than the one "
                    + "that is configured, delete it there",
                .mqttFailed)
        }
        guard announced != before, let data = try? JSONEncoder().encode(announced.json) else { return }
        let (file, text) = (file, String(decoding: data, as: UTF8.self))
        let failure: String? = await withCheckedContinuation { continuation in
            disk.async {
                do {
                    try file.write(text)
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: "\(error)")
                }
            }
        }
        if let failure, !hasFailed {
            log.warning("MQTT: what is announced cannot be noted: \(failure)", .mqttFailed)
        }
        hasFailed = failure != nil
    }
}
