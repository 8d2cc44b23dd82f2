import TestSupport
import Testing

extension SystemTests {
    @Suite struct CutLinkTests {
        static let window: Int64 = 256 << 10

        @Test func threeCutsInOneTransferCostAWindowEachAtMost() async throws {
            let size = 3 * mib + 4321
            let captures = try Captures("interview", ["one.wav": size])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                // Inside of windows, each one further on.
                try await lab.fault("cut-after=700000,1700000,2700000")
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.verify()
                let sendings = try await lab.sendings().of(size: size)
                let broken = sendings.filter { $0.sent < $0.length }
                #expect(broken.count == 3)
                let again = sendings.bytes - Int64(size)
                #expect((0...3 * Self.window).contains(again), "\(again) bytes were sent again")
                #expect(sendings.filter { $0.offset == 0 }.count == 1)
            }
        }

        /// Lost notifications, an object that is locked once, a checksum that is wrong once.
        @Test(arguments: [["lose-every=97"], ["locked=once", "wrong-checksum=once"], ["indications=stale"]])
        func whatARecorderDoesWrongDoesNotReachTheFile(_ faults: [String]) async throws {
            let captures = try Captures("interview", ["one.wav": 600_003, "two.jpg": 70_001])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                for fault in faults { try await lab.fault(fault) }
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }
    }
}
