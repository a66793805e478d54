/// What APNs asks of a push type (Apple: Sending notification requests to APNs).
///
/// Written down apart from the worker's own table, so that the stand-in checks it.
struct APNsPushType {
    let name: String
    /// What the topic ends with.
    let topicSuffix: String
    let priorities: Set<String>
    let maximumPayloadBytes: Int

    private init(_ name: String, suffix: String = "", priorities: Set<String> = ["1", "5", "10"], bytes: Int = 4096) {
        self.name = name
        topicSuffix = suffix
        self.priorities = priorities
        maximumPayloadBytes = bytes
    }

    private static let all: [String: APNsPushType] = [
        APNsPushType("alert"),
        APNsPushType("background", priorities: ["1", "5"]),
        APNsPushType("voip", suffix: ".voip", bytes: 5120),
        APNsPushType("complication", suffix: ".complication"),
        APNsPushType("fileprovider", suffix: ".pushkit.fileprovider"),
        APNsPushType("mdm"),
        APNsPushType("liveactivity", suffix: ".push-type.liveactivity"),
        APNsPushType("location", suffix: ".location-query"),
        APNsPushType("pushtotalk", suffix: ".voip-ptt"),
        APNsPushType("widgets", suffix: ".push-type.widgets"),
        APNsPushType("controls", suffix: ".push-type.controls"),
    ].reduce(into: [:]) { $0[$1.name] = $1 }

    /// The type of an `apns-push-type` header; without one it is `alert`.
    static func named(_ name: String?) -> APNsPushType? {
        all[name ?? "alert"]
    }
}
