import Control
import Foundation
import Testing

@testable import celestiad

@Suite struct RenderingTests {
    private func layout(_ width: Int = 100) -> Layout { Layout(width: width, now: Fixtures.now) }

    private func expect(_ lines: [String], _ golden: String, _ location: SourceLocation = #_sourceLocation) {
        #expect(lines.joined(separator: "\n") == golden, sourceLocation: location)
    }

    @Test func statusOnOneScreen() {
        expect(
            StatusView(layout()).lines(Fixtures.status),
            """
            celestiad   9.8.7 · up 2 h 3 min
            Account     ada@example.com at api.example.com · logged in · since 2026-11-30 10:00
            Adapter     hci0 00:11:22:33:44:55 · on · scanning
            Recorder    CR1-0042 · "Küche 🎙" · Celestia R1 · firmware 1.4.2 · hardware B
                        battery 81 % (2 min ago) · storage 12.0 GiB of 32.0 GiB free (2 min ago)
                        2 captures to pull
                        link syncing · by notifications · seen 3 s ago · synced 1 d ago
                        clock set 1 min 1 s ago
            Queue       3 files, 52.0 MiB to upload · oldest from 2 h ago · next try in 30 s
                        the cloud is unreachable
                        uploading 1 · imported 12
            Disk        10.1 GiB of 32.0 GiB free · 1.0 GiB kept free · /var/lib/celestiad
            Transfer    device→hub  ████░░░░   62 %  25.0 MiB of 40.0 MiB  1.1 MiB/s  12 s left  REC0002.OPUS
                        hub→cloud   ████░░░░   50 %  20.0 MiB of 40.0 MiB  5.0 MiB/s  4 s left  REC0001.WAV
            Health      warning: the cloud is unreachable (5 min ago)
                        → ping api.example.com
            """)
    }

    @Test func statusOnANarrowTerminal() {
        let lines = StatusView(layout(48)).lines(Fixtures.status)
        #expect(lines.allSatisfy { Text.width($0) <= 48 })
        expect(
            lines,
            """
            celestiad   9.8.7 · up 2 h 3 min
            Account     ada@example.com at api.example.com
                        logged in · since 2026-11-30 10:00
            Adapter     hci0 00:11:22:33:44:55 · on
                        scanning
            Recorder    CR1-0042 · "Küche 🎙" · Celestia R1
                        firmware 1.4.2 · hardware B
                        battery 81 % (2 min ago)
                        storage 12.0 GiB of 32.0 GiB free (2
                        min ago) · 2 captures to pull
                        link syncing · by notifications
                        seen 3 s ago · synced 1 d ago
                        clock set 1 min 1 s ago
            Queue       3 files, 52.0 MiB to upload
                        oldest from 2 h ago
                        next try in 30 s
                        the cloud is unreachable
                        uploading 1 · imported 12
            Disk        10.1 GiB of 32.0 GiB free
                        1.0 GiB kept free
                        /var/lib/celestiad
            Transfer    device→hub   62 %  1.1 MiB/s
                        12 s left
                        hub→cloud    50 %  5.0 MiB/s
                        4 s left
            Health      warning: the cloud is unreachable (5
                        min ago)
                        → ping api.example.com
            """)
    }

    @Test func statusWhenNothingIsThere() {
        let empty = StatusDocument(
            time: Fixtures.now, daemon: DaemonDocument(version: "1", startedAt: Fixtures.now),
            account: AccountDocument(state: "logged_out", action: "celestiad login"), queue: QueueDocument())
        expect(
            StatusView(layout()).lines(empty),
            """
            celestiad   1 · up 0 s
            Account     logged out
                        → celestiad login
            Adapter     none
            Recorder    none paired
                        → celestiad pair
            Queue       nothing waits
            Health      all is well
            """)
    }

    @Test func coloursOnlyWhereTheyAreWanted() {
        var colored = layout()
        colored.hasColor = true
        let lines = StatusView(colored).lines(Fixtures.status)
        #expect(lines.contains { $0.contains("\u{1B}[33mwarning: the cloud is unreachable") })
        #expect(!StatusView(layout()).lines(Fixtures.status).contains { $0.contains("\u{1B}") })
    }

    @Test func recorders() {
        expect(
            RecorderView(layout()).table([Fixtures.recorder]),
            """
            ID        NAME     MODEL  FIRMWARE  BATTERY      FREE  LINK     SEEN
            CR1-0042  Küche 🎙  R1     1.4.2        81 %  12.0 GiB  syncing  3 s ago
            """)
        expect(
            RecorderView(layout()).lines(Fixtures.recorder),
            """
            Recorder      CR1-0042
            Name          Küche 🎙
            Manufacturer  Celestia
            Model         R1
            Hardware      B
            Firmware      1.4.2
            Address       C0:FF:EE:00:00:42
            Adapter       00:11:22:33:44:55
            Paired by     numeric comparison
            Battery       81 % (2 min ago)
            Storage       12.0 GiB of 32.0 GiB free (2 min ago)
            To pull       2 captures
            Recording     no
            Link          syncing
            Signal        -61 dBm
            Data by       notifications
            Seen          3 s ago
            Synced        1 d ago
            Clock set     1 min 1 s ago
            """)
    }

    @Test func sessions() {
        expect(
            SessionView(layout()).table([Fixtures.session]),
            """
            ID        CAPTURED          LENGTH  TITLE     RECORDER  FILES      SIZE  STATE
            1b9d6bcd  2026-11-30 11:00   32:05  朝の会議  CR1-0042    1/2  40.0 MiB  uploading
            """)
        expect(
            SessionView(layout()).lines(Fixtures.session),
            """
            Session       1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed
            Recorder      CR1-0042
            Title         朝の会議
            Captured      2026-11-30 11:00
            Length        32:05
            State         uploading
            In the cloud  ses_1
            Queued        30 min ago
            Changed       5 s ago
            Size          40.0 MiB in 2 files

            FILE              KIND       SIZE  STATE             SHA-256           CLOUD
            REC0001.WAV       audio  40.0 MiB  uploading (50 %)  abababababababab  –
            evil�[2J�gpj.JPG  photo       1 B  uploaded          cdcdcdcdcdcdcdcd  same
            """)
    }

    @Test func aDifferentHashIsNotHidden() {
        var session = Fixtures.session
        session.assets?[0].confirmedSha256 = String(repeating: "ef", count: 32)
        session.assets?[1].sha256 = nil
        let lines = SessionView(layout()).lines(session)
        #expect(lines.contains { $0.contains("REC0001.WAV") && $0.hasSuffix("DIFFERENT") })
        #expect(lines.contains { $0.contains("evil") && $0.hasSuffix("unknown") })
    }

    @Test func scanResultsNearestFirst() {
        let far = ScanResultDocument(
            address: "AA:AA:AA:AA:AA:AA", rssi: -90, paired: true, recorder: "CR1-0001", seenAt: Fixtures.now)
        let unknown = ScanResultDocument(address: "BB:BB:BB:BB:BB:BB", paired: false, seenAt: Fixtures.now)
        expect(
            ScanView(layout()).table([unknown, far, Fixtures.scanResult], numbered: true),
            """
               ADDRESS            NAME         MODEL   SIGNAL  MODE     STATE
            1  C0:FF:EE:00:00:42  Celestia R1  R1     -61 dBm  pairing  new
            2  AA:AA:AA:AA:AA:AA  –            –      -90 dBm  –        paired as CR1-0001
            3  BB:BB:BB:BB:BB:BB  –            –            –  –        new
            """)
        expect(
            ScanView(layout()).table([unknown]),
            """
            ADDRESS            NAME  STATE
            BB:BB:BB:BB:BB:BB  –     new
            """)
    }

    @Test func aNarrowTableKeepsTheState() {
        var held = Fixtures.session
        held.state = "queued_offline"
        held.reason = "quota: the account has no room left for a file of 40 MiB"
        expect(
            SessionView(layout(60)).table([Fixtures.session, held]),
            """
            ID        CAPTURED          TITLE     FILES  STATE
            1b9d6bcd  2026-11-30 11:00  朝の会議    1/2  uploading
            1b9d6bcd  2026-11-30 11:00  朝の会議    1/2  queued offline…
            """)
        let narrow = SessionView(layout(24)).table([Fixtures.session])
        #expect(narrow == ["ID        STATE", "1b9d6bcd  uploading"])
    }

    @Test func whatIsNotKnownIsNotShownAsNothing() {
        var session = Fixtures.session
        session.durationMs = 0
        #expect(!SessionView(layout()).lines(session).contains { $0.hasPrefix("Length") })
        #expect(SessionView(layout()).table([session])[1].contains("11:00       –  "))
        session.assets?[1].state = "released"
        #expect(
            SessionView(layout()).lines(session).contains { $0.contains("uploaded, local copy removed") })
    }

    @Test(
        arguments: [
            (true, "idle", nil, "on"), (true, "scanning", nil, "on · scanning"), (false, "off", nil, "off"),
            (false, "blocked", "blocked by rfkill", "off · blocked by rfkill"),
        ] as [(Bool, String, String?, String)])
    func anAdapterIsDescribedOnce(_ isOn: Bool, _ state: String, _ reason: String?, _ text: String) {
        var status = Fixtures.status
        status.adapters = [
            AdapterDocument(name: "hci0", address: "A", powered: isOn, state: state, reason: reason)
        ]
        #expect(StatusView(layout()).lines(status).contains("Adapter     hci0 A · \(text)"))
    }

    @Test(
        arguments: [
            (
                40,
                """
                device→hub   62 %  1.1 MiB/s  12 s left
                hub→cloud    50 %  5.0 MiB/s  4 s left
                """
            ),
            (
                60,
                """
                device→hub   62 %  1.1 MiB/s  12 s left  REC0002.OPUS
                hub→cloud    50 %  5.0 MiB/s  4 s left  REC0001.WAV
                """
            ),
            (
                80,
                """
                device→hub   62 %  25.0 MiB of 40.0 MiB  1.1 MiB/s  12 s left  REC0002.OPUS
                hub→cloud    50 %  20.0 MiB of 40.0 MiB  5.0 MiB/s  4 s left  REC0001.WAV
                """
            ),
            (
                90,
                """
                device→hub  ████░░░░   62 %  25.0 MiB of 40.0 MiB  1.1 MiB/s  12 s left  REC0002.OPUS
                hub→cloud   ████░░░░   50 %  20.0 MiB of 40.0 MiB  5.0 MiB/s  4 s left  REC0001.WAV
                """
            ),
        ])
    func progressKeepsItsNumbers(_ width: Int, _ golden: String) {
        expect(ProgressView(layout: layout(width)).lines(Fixtures.transfers), golden)
    }

    @Test func longNamesAreCutInTheMiddle() {
        var transfer = Fixtures.transfers[0]
        transfer.name = "REC-2026-11-30-0001.OPUS"
        #expect(
            ProgressView(layout: layout(60)).lines([transfer]) == [
                "device→hub   62 %  1.1 MiB/s  12 s left  REC-2026-…0001.OPUS"
            ])
        #expect(Text.fitEnds("Celestia CEL-0001", to: 11) == "Celes…-0001")
        #expect(Text.fitEnds("朝の会議", to: 6) == "朝…議")
        #expect(Text.fitEnds("abc", to: 1) == "…")
        #expect(Text.fitEnds("abc", to: 3) == "abc")
    }

    @Test func recordersNearbyCanBeToldApartOnANarrowTerminal() {
        var other = Fixtures.scanResult
        other.address = "C0:FF:EE:00:00:43"
        other.name = "Celestia CEL-0002"
        other.rssi = -70
        var mine = Fixtures.scanResult
        mine.name = "Celestia CEL-0001"
        expect(
            ScanView(layout(40)).table([mine, other], numbered: true),
            """
               ADDRESS            NAME         STATE
            1  C0:FF:EE:00:00:42  Celes…-0001  new
            2  C0:FF:EE:00:00:43  Celes…-0002  new
            """)
        other.paired = true
        other.recorder = "CEL-0002"
        expect(
            ScanView(layout(40)).table([mine, other], numbered: true),
            """
               ADDRESS            NAME      STATE
            1  C0:FF:EE:00:00:42  Cel…0001  new
            2  C0:FF:EE:00:00:43  Cel…0002  paired …
            """)
    }

    @Test func longValuesGoOnBelow() {
        var recorder = Fixtures.recorder
        recorder.dataPlaneReason = "the L2CAP channel failed: socket: connection refused"
        let lines = RecorderView(layout(40)).lines(recorder)
        #expect(lines.allSatisfy { Text.width($0) <= 40 })
        let text = lines.joined(separator: "\n")
        #expect(
            text.contains(
                """
                Storage       12.0 GiB of 32.0 GiB free
                              (2 min ago)
                """))
        #expect(
            text.contains(
                """
                Data by       notifications (not by the
                              channel: the L2CAP channel
                              failed: socket: connection
                              refused)
                """))
        expect(
            Array(SessionView(layout(40)).lines(Fixtures.session).prefix(2)),
            """
            Session       1b9d6bcd-bbfd-4b2d-9b5d-ab
                          8dfbbd4bed
            """)
    }

    @Test func importedFilesHaveNoRecorder() {
        var session = Fixtures.session
        session.recorder = "0b0e3a52-6c1f-4a43-9d6e-2f6f3c1f8a77"
        session.source = "dslr_import"
        #expect(SessionView(layout()).table([session])[1].contains("朝の会議  –  "))
        let lines = SessionView(layout()).lines(session)
        #expect(lines[1] == "Source        files imported here (dslr import)")
        #expect(!lines.contains { $0.contains(session.recorder) || $0.hasPrefix("Recorder") })
    }

    @Test func tablesFitTheirTerminal() {
        for width in [20, 40, 60, 80] {
            let lines =
                SessionView(layout(width)).table([Fixtures.session])
                + RecorderView(layout(width)).table([Fixtures.recorder])
                + ProgressView(layout: layout(width)).lines(Fixtures.transfers)
            #expect(lines.allSatisfy { Text.width($0) <= width })
        }
    }

    @Test func progressAsLinesComesAtQuartersAndIntervals() {
        var log = ProgressLog(interval: 30)
        func transfer(_ bytes: Int64) -> [TransferDocument] {
            [TransferDocument(leg: "hub_to_cloud", asset: "a", name: "A.WAV", bytes: bytes, totalBytes: 400)]
        }
        let steps: [(Int64, Int64, Int)] = [
            (0, 0, 1), (50, 1, 0), (100, 2, 1), (150, 3, 0), (160, 31, 0), (161, 32, 1), (400, 33, 1),
            (400, 34, 0),
        ]
        for (bytes, seconds, count) in steps {
            #expect(log.update(transfer(bytes), seconds: seconds).count == count, "\(bytes) at \(seconds)")
        }
        #expect(log.update([], seconds: 40) == [])
        #expect(log.update(transfer(0), seconds: 41) == ["hub→cloud A.WAV: 0 %, 0 B of 400 B"])
    }
}
