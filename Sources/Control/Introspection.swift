/// The interface descriptions of `dbus/`, embedded at build time.
enum Introspection {
    static let manager = interface(in: PackageResources.life_ccdw_Celestia1_Manager_xml)
    static let cloud = interface(in: PackageResources.life_ccdw_Celestia1_Cloud_xml)
    static let recorder = interface(in: PackageResources.life_ccdw_Celestia1_Recorder_xml)
    static let session = interface(in: PackageResources.life_ccdw_Celestia1_Session_xml)
    static let job = interface(in: PackageResources.life_ccdw_Celestia1_Job_xml)

    /// The `<interface>` element of a description file.
    private static func interface(in file: [UInt8]) -> String {
        let lines = String(decoding: file, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.firstIndex(where: { $0.contains("<interface ") }),
            let last = lines.lastIndex(where: { $0.contains("</interface>") }), first < last
        else { preconditionFailure("a file of dbus/ has no interface element") }
        return lines[first...last].joined(separator: "\n")
    }
}
