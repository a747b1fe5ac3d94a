// SPDX-License-Identifier: Apache-2.0
//! `overrule schema`, `completions`, `man`: what is generated from the code itself.

use clap::CommandFactory;
use overrule::view;
use overrule_ask::{AskError, AskResult, Exit, Sink};

use crate::args::{Args, Completions, Man};
use crate::output::Out;

pub fn schema(out: &mut Out) -> AskResult {
    out.line(&view::json(&view::schema()))?;
    Ok(Exit::Fine)
}

pub fn completions(asked: &Completions, out: &mut Out) -> AskResult {
    let mut script = Vec::new();
    clap_complete::generate(asked.shell, &mut Args::command(), "overrule", &mut script);
    out.result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}

pub fn man(asked: &Man, out: &mut Out) -> AskResult {
    let command = Args::command();
    match &asked.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            out.result(&String::from_utf8_lossy(&page))?;
        }
        Some(dir) => {
            let failed = |e: std::io::Error| {
                AskError::World(format!("cannot write manual pages to {}: {e}", dir.display()))
            };
            std::fs::create_dir_all(dir).map_err(failed)?;
            clap_mangen::generate_to(command, dir).map_err(failed)?;
        }
    }
    Ok(Exit::Fine)
}
