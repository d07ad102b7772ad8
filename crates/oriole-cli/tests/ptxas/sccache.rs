//! sccache in front of Oriole: it takes it for ptxas, keeps its cubins and gives them back, and has them made on other machines
//! (`distributed`).

mod distributed;

use super::Folder;
use oriole_prerequisites::tool_of;
use serde_json::Value;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Names the folder that has sccache.
const SCCACHE: &str = "ORIOLE_SCCACHE";

/// A server of sccache's of the test's own, that ends with it.
struct Server<'a> {
    sccache: PathBuf,
    folder: &'a Folder,
    port: u16,
}

impl<'a> Server<'a> {
    /// It goes by `sccache.conf` of the folder, where there is one.
    fn start(sccache: PathBuf, folder: &'a Folder) -> Server<'a> {
        let server = Server { sccache, folder, port: free_port() };
        let output = server.call(&["--start-server"]);
        assert!(output.status.success(), "{output:?}");
        server
    }

    fn call(&self, words: &[&str]) -> Output {
        Command::new(&self.sccache)
            .args(words)
            .current_dir(self.folder.path(""))
            .env("SCCACHE_CONF", self.folder.path("sccache.conf"))
            .env("SCCACHE_DIR", self.folder.path("cache"))
            .env("SCCACHE_SERVER_PORT", self.port.to_string())
            .env("SCCACHE_IDLE_TIMEOUT", "60")
            .output()
            .expect("it runs")
    }

    /// What it has counted.
    fn statistics(&self) -> Value {
        let output = self.call(&["--show-stats", "--stats-format", "json"]);
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["stats"].take()
    }
}

/// Nobody else takes it in between, as good as surely.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// What was counted of cubins that ptxas made.
fn of_cubins(statistics: &Value, what: &str) -> Option<u64> {
    statistics[what]["adv_counts"]["cubin [ptxas]"].as_u64()
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.call(&["--stop-server"]);
    }
}

#[test]
fn sccache_keeps_cubins() {
    let Some(sccache) = tool_of(SCCACHE, "sccache") else { return };
    let folder = Folder::new();
    let server = Server::start(sccache, &folder);
    let ptxas = folder.path("ptxas");
    let mut cubins = Vec::new();
    for name in ["first.cubin", "second.cubin"] {
        let output = server.call(&[ptxas.to_str().expect("text"), "-arch=sm_90", "-m64", "-v", "k.ptx", "-o", name]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("ptxas info    : Used "), "{said}");
        cubins.push(std::fs::read(folder.path(name)).expect("written"));
    }
    assert_eq!(cubins[0], cubins[1]);
    let statistics = server.statistics();
    let counts = ["cache_misses", "cache_hits"].map(|what| of_cubins(&statistics, what));
    assert_eq!(counts, [Some(1), Some(1)], "{statistics}");
}
