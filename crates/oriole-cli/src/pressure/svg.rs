//! Pressure as a drawing: for each function a curve for each file over its instructions, with the peak of R and the steps of
//! occupancy.

use super::json::FILES;
use super::{gain, occupancy};
use crate::svg::escaped;
use oriole_codegen::{Peak, Pressure};
use std::fmt::Write;

const WIDTH: usize = 1200;
/// Of one function.
const HEIGHT: usize = 300;
/// Room on the left for numbers, on the right for steps, above for titles, and below.
const LEFT: usize = 50;
const RIGHT: usize = 130;
const TOP: usize = 60;
const BOTTOM: usize = 30;
/// By file: dark enough on white, and apart for those who do not see red.
const COLOURS: [&str; 5] = ["#0b5394", "#b45f06", "#38761d", "#741b47", "#666666"];

pub(super) fn document(functions: &[Pressure]) -> String {
    let height = (HEIGHT * functions.len()).max(1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (at, pressure) in functions.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate(0,{})\">", at * HEIGHT);
        Plot::new(pressure).draw(&mut out);
        out.push_str("</g>\n");
    }
    out + "</svg>\n"
}

/// A function's curves, with what maps instructions and registers to the drawing.
struct Plot<'a> {
    pressure: &'a Pressure,
    /// The highest number of registers shown.
    most: u32,
}

impl<'a> Plot<'a> {
    fn new(pressure: &'a Pressure) -> Self {
        let peaks = pressure.peaks.iter().flatten().map(|peak| peak.count);
        Plot { pressure, most: peaks.chain([pressure.registers, 8]).max().unwrap_or(8) }
    }

    fn x(&self, inst: usize) -> f64 {
        let last = self.pressure.insts.len().max(2) - 1;
        LEFT as f64 + (WIDTH - LEFT - RIGHT) as f64 * inst as f64 / last as f64
    }

    fn y(&self, registers: u32) -> f64 {
        let room = (HEIGHT - TOP - BOTTOM) as f64;
        TOP as f64 + room - room * f64::from(registers) / f64::from(self.most)
    }

    fn draw(&self, out: &mut String) {
        self.title(out);
        self.blocks(out);
        self.steps(out);
        for file in (0..FILES.len()).filter(|file| self.pressure.peaks[*file].is_some()) {
            self.curve(out, file);
        }
        if let [Some(peak), ..] = &self.pressure.peaks {
            self.peak(out, peak);
        }
    }

    fn title(&self, out: &mut String) {
        let pressure = self.pressure;
        let gain = gain(pressure).map(|gain| format!("; {gain}")).unwrap_or_default();
        let text = format!("{}: {} registers{gain}", pressure.function, pressure.registers);
        let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{}</text>", escaped(&text));
        for (file, (name, colour)) in FILES.into_iter().zip(COLOURS).enumerate() {
            let Some(peak) = &pressure.peaks[file] else { continue };
            let x = LEFT + 130 * file;
            let text = format!("{name}: at most {}", peak.count);
            let _ = writeln!(out, "<text x=\"{x}\" y=\"40\" fill=\"{colour}\">{text}</text>");
        }
        let (right, last) = (WIDTH - RIGHT, pressure.insts.len());
        let below = HEIGHT - BOTTOM + 15;
        let _ = writeln!(out, "<text x=\"{right}\" y=\"{below}\" text-anchor=\"end\">{last} instructions</text>");
    }

    /// A line where a block begins.
    fn blocks(&self, out: &mut String) {
        let pairs = self.pressure.insts.windows(2).enumerate();
        for (at, _) in pairs.filter(|(_, pair)| pair[0].block != pair[1].block) {
            let (x, bottom) = (self.x(at + 1), HEIGHT - BOTTOM);
            let _ = writeln!(out, "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#eeeeee\"/>");
        }
    }

    /// A line at each number of registers below which more run.
    fn steps(&self, out: &mut String) {
        let (right, label) = (WIDTH - RIGHT, WIDTH - RIGHT + 5);
        let zero = self.y(0);
        let _ = writeln!(out, "<path d=\"M{LEFT} {zero:.1}H{right}\" stroke=\"black\"/>");
        for step in self.pressure.steps.iter().filter(|step| self.pressure.is_kernel && step.registers <= self.most) {
            let (y, registers) = (self.y(step.registers), step.registers);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#999999\" stroke-dasharray=\"4 3\"/>\n\
                 <text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{registers}</text>\n\
                 <text x=\"{label}\" y=\"{y:.1}\">{}</text>",
                LEFT - 5,
                occupancy(step)
            );
        }
    }

    fn curve(&self, out: &mut String, file: usize) {
        let points = self.pressure.insts.iter().enumerate();
        let points: Vec<String> =
            points.map(|(at, inst)| format!("{:.1},{:.1}", self.x(at), self.y(inst.counts[file]))).collect();
        let (points, colour) = (points.join(" "), COLOURS[file]);
        let _ = writeln!(out, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>");
    }

    /// A mark that names what is live there when one points at it.
    fn peak(&self, out: &mut String, peak: &Peak) {
        let inst = &self.pressure.insts[peak.inst];
        let values = peak.values.iter().map(|value| {
            let name = value.name.as_deref().map(|name| format!(": {name}")).unwrap_or_default();
            format!("\nR{}{name}", value.register)
        });
        let text = format!("{} live at: {}{}", peak.count, inst.text, values.collect::<String>());
        let (x, y) = (self.x(peak.inst), self.y(peak.count));
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{}\"><title>{}</title></circle>",
            COLOURS[0],
            escaped(&text)
        );
    }
}
