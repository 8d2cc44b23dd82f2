import Foundation
import Glibc
import TestSupport
import Testing

extension SystemTests {
    @Suite struct MetricsTests {
        private func configure(_ lab: Laboratory, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: lab.folder.path + "/celestiad.conf"))
            lab.signalDaemon(SIGHUP)
        }

        /// What node_exporter and Prometheus read, turned on, moved and turned off while the daemon runs.
        @Test func theDaemonIsMeasuredByFileAndBySocket() async throws {
            try await Laboratory.run(try Captures("interview", ["one.wav": 100_000])) { lab in
                let (file, socket) = (lab.folder.path + "/celestiad.prom", lab.folder.path + "/m.sock")
                try configure(lab, "[Metrics]\nTextfilePath=\(file)\nInterval=1s\nListen=unix:\(socket)\n")
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                func value(_ sample: String) -> String? {
                    let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
                    return text.split(separator: "\n").first { $0.hasPrefix(sample + " ") }?.split(
                        separator: " "
                    ).last
                        .map(String.init)
                }
                try await lab.waitUntil("the upload is counted") {
                    value(#"celestiad_events_total{kind="sessionUploaded"}"#) == "1"
                        && value("celestiad_queue_pending_files") == "0"
                }
                #expect(value(#"celestiad_transferred_bytes_total{leg="device_to_hub"}"#) == "100000")
                #expect(
                    value(#"celestiad_transferred_bytes_total{leg="hub_to_cloud"}"#).flatMap(Int.init) ?? 0
                        >= 100_000)
                #expect(value(#"celestiad_recorder_battery_ratio{recorder="CEL-0001"}"#) == "0.87")
                #expect(value("celestiad_logged_in") == "1")

                let answer = lab.folder.path + "/answer"
                let curl = try Child(
                    ["/usr/bin/curl", "-s", "--unix-socket", socket, "http://localhost/metrics"],
                    output: answer,
                    errors: answer + ".errors", environment: [:])
                #expect(await curl.waitUntilExit() == 0)
                #expect(
                    try String(contentsOfFile: answer, encoding: .utf8).contains(
                        "\ncelestiad_build_info{version="))

                try configure(lab, "")
                try await lab.waitUntil("both are gone") {
                    !FileManager.default.fileExists(atPath: file)
                        && !FileManager.default.fileExists(atPath: socket)
                }
                #expect(!lab.log().contains("metrics cannot"))
            }
        }
    }
}
