fn main() {
    for f in std::env::args().skip(1) {
        let t = std::fs::read_to_string(&f).unwrap();
        let (mut p, mut n) = (0, 0);
        for (i, l) in t.lines().enumerate() {
            let v: serde_json::Value = serde_json::from_str(l).unwrap();
            match overrule_conformance::kuma::random::run(&v) {
                Ok(()) => p += 1,
                Err(e) => {
                    n += 1;
                    println!(
                        "{} {}: {e}",
                        i + 1,
                        overrule_conformance::kuma::random::name(&v, i + 1)
                    );
                }
            }
        }
        println!("{f}: {p} passed, {n} failed");
    }
}
