import DBus
import Foundation
import TestSupport
import Testing

extension SystemTests {
    /// `celestiad doctor` beside the running daemon, and when that is gone.
    @Suite struct DoctorTests {
        private struct Finding: Decodable {
            let check: String
            let state: String
            let text: String
            let fix: [String]?
            let advice: String?
        }

        private struct Report: Decodable {
            let state: String
            let findings: [Finding]

            func finding(_ check: String, _ state: String) -> Finding? {
                findings.first { $0.check == check && $0.state == state }
            }
        }

        private func examine(_ lab: Laboratory) async throws -> (status: Int32, report: Report) {
            let ending = try await lab.cli("doctor", "--json")
            return (ending.status, try JSONDecoder().decode(Report.self, from: Data(ending.output.utf8)))
        }

        @Test func faultsAreFoundAndTheirEndToo() async throws {
            let captures = try Captures("interview", ["Private talk with Eve.wav": 200_000])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                let well = try await examine(lab)
                for check in [
                    "configuration", "service", "dbus", "adapter", "cloud", "credentials", "queue",
                    "recorders",
                ] {
                    #expect(well.report.finding(check, "ok") != nil, "\(check): \(well.report)")
                }
                #expect(well.report.finding("bluetoothd", "fail") == nil)

                try await lab.simulate("SetBlocked", .string("hci0"), .boolean(true))
                let blocked = try await examine(lab)
                #expect(blocked.status == 14 && blocked.report.state == "fail")
                let finding = try #require(blocked.report.finding("adapter", "fail"), "\(blocked.report)")
                #expect(finding.text.contains("hci0") && finding.fix?.isEmpty == false)

                try await lab.simulate("RemoveAdapter", .string("hci0"))
                #expect(
                    try await examine(lab).report.finding("adapter", "fail")?.text.contains(
                        "no Bluetooth adapter") == true)
                try await lab.simulate("AddAdapter", .string("hci0"), .string("00:1A:7D:DA:71:13"))
                #expect(try await examine(lab).report.finding("adapter", "ok") != nil)

                let bundle = lab.folder.path + "/doctor.tar"
                #expect([0, 14].contains(try await lab.cli("doctor", "--bundle", bundle).status))
                let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: bundle)), as: UTF8.self)
                for secret in ["\"ada\"", "Eve.wav", Laboratory.serial(), "C0:FF:EE", Laboratory.password] {
                    #expect(!text.contains(secret), "\(secret)")
                }
                #expect(text.contains("celestiad-doctor/status.json"))

                #expect(await lab.endDaemon(SIGTERM) == 0)
                let gone = try await examine(lab)
                #expect(gone.status == 14)
                // In a container it is not systemd's to start.
                let service = try #require(gone.report.finding("service", "fail"))
                #expect(
                    service.fix?.first == "sudo systemctl start celestiad"
                        || service.advice?.hasSuffix("celestiad run") == true)
                // Asked by the program itself then.
                #expect(gone.report.finding("cloud", "ok") != nil, "\(gone.report)")
                #expect(gone.report.finding("adapter", "ok") != nil)
                #expect(gone.report.finding("credentials", "ok") != nil)
            }
        }
    }
}
