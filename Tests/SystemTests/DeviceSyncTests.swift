import Control
import DBus
import Foundation
import FoundationNetworking
import TestSupport
import Testing

extension SystemTests {
    /// The account's record of a recorder, by the daemon as it runs.
    @Suite struct DeviceSyncTests {
        /// Somebody removes all recorders from the account, by another client.
        private func removeElsewhere(_ lab: Laboratory) async throws {
            struct Answer: Decodable {
                struct Tokens: Decodable { let token: String }
                let data: Tokens
            }
            func request(_ method: String, _ path: String) throws -> URLRequest {
                var request = URLRequest(url: try #require(URL(string: lab.cloud.address + path)))
                request.httpMethod = method
                return request
            }
            var login = try request("POST", "/auth/login")
            login.httpBody = Data(#"{"identifier":"ada","password":"\#(Laboratory.password)"}"#.utf8)
            login.setValue("application/json", forHTTPHeaderField: "Content-Type")
            let answer = try await URLSession.shared.data(for: login).0
            let token = try JSONDecoder().decode(Answer.self, from: answer).data.token
            for device in try await lab.cloud.state().devices {
                var removal = try request("DELETE", "/devices/\(device.id)")
                removal.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
                _ = try await URLSession.shared.data(for: removal)
            }
        }

        /// Bound once, also over kills; bound again when somebody removed it; not chatty; and removed when it is asked for.
        @Test func aRecorderIsBoundOnceAndAgainWhenItIsGone() async throws {
            try await Laboratory.run(try Captures("a", ["a.wav": 50_000])) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntil("it is bound") { try await lab.cloud.state().devices.count == 1 }
                let first = try #require(try await lab.cloud.state().devices.first)
                try await lab.waitUntilUploaded()
                for battery in [41, 42, 43] as [UInt8] {
                    try await lab.simulate("SetBattery", .string(Laboratory.serial()), .byte(battery))
                }
                // A minute has not passed since it was bound.
                #expect(try await lab.cloud.state().requests["updateDevice"] == nil)
                _ = await lab.endDaemon(SIGKILL)
                try await lab.startDaemon()
                try await lab.waitUntil("the account is told") {
                    try await lab.cloud.state().requests["updateDevice"]?.requests ?? 0 > 0
                }
                var state = try await lab.cloud.state()
                #expect(state.devices.map(\.id) == [first.id])
                #expect(state.requests["bindDevice"]?.requests == 1)
                try await removeElsewhere(lab)
                #expect(try await lab.cloud.state().devices.isEmpty)
                _ = await lab.endDaemon(SIGTERM)
                try await lab.startDaemon()
                try await lab.waitUntil("it is bound again") {
                    try await lab.cloud.state().devices.count == 1
                }
                state = try await lab.cloud.state()
                #expect(state.devices.first?.peripheralUUID == first.peripheralUUID)
                #expect(state.requests["bindDevice"]?.requests == 2)
                #expect(state.requests["updateDevice"]?.requests ?? 0 <= 3)
                let forget = try await lab.cli("forget", Laboratory.serial(), "--unbind", "--yes")
                #expect(forget.status == 0, "\(forget)")
                #expect(try await lab.cloud.state().devices.isEmpty)
            }
        }
    }
}
