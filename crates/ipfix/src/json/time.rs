//! Date-times as JSON text: ISO 8601 in UTC with as many digits as the element has. With milliseconds it is what
//! JavaScript's `Date` writes.

/// The first second that four digits of a year cannot say: 1 January 10000.
const YEAR_10000: u64 = 253_402_300_800;

/// Writes `"2026-01-02T03:04:05.678Z"`; null for the year 10000 and after.
pub(super) fn milliseconds(value: u64, out: &mut Vec<u8>) {
    write(value / 1000, value % 1000, 3, out);
}

/// Writes `"2026-01-02T03:04:05.678901Z"`.
pub(super) fn microseconds(value: u64, out: &mut Vec<u8>) {
    write(value / 1_000_000, value % 1_000_000, 6, out);
}

/// Writes `"2026-01-02T03:04:05.678901234Z"`.
pub(super) fn nanoseconds(value: u64, out: &mut Vec<u8>) {
    write(value / 1_000_000_000, value % 1_000_000_000, 9, out);
}

fn write(seconds: u64, mut fraction: u64, digits: usize, out: &mut Vec<u8>) {
    if seconds >= YEAR_10000 {
        out.extend_from_slice(b"null");
        return;
    }
    let (year, month, day) = civil(seconds / 86_400);
    let second = seconds % 86_400;
    let [y0, y1] = two(year / 100);
    let [y2, y3] = two(year % 100);
    let [m0, m1] = two(month);
    let [d0, d1] = two(day);
    let [h0, h1] = two(second / 3600);
    let [i0, i1] = two(second / 60 % 60);
    let [s0, s1] = two(second % 60);
    out.extend_from_slice(&[
        b'"', y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T', h0, h1, b':', i0, i1, b':', s0, s1,
        b'.',
    ]);
    let mut text = [b'0'; 9];
    for digit in text.iter_mut().take(digits).rev() {
        *digit = b'0' + (fraction % 10) as u8;
        fraction /= 10;
    }
    out.extend(text.iter().take(digits));
    out.extend_from_slice(b"Z\"");
}

/// Two digits of a number below 100.
#[inline]
fn two(value: u64) -> [u8; 2] {
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

/// Year, month and day of a day since 1 January 1970, in the Gregorian calendar. Years are counted from 1 March, so
/// that the leap day is the last of its year, in eras of 400 years, which all have 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    // 1 March of the year 0 is 719,468 days before 1970.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // March to January have 153 days in each five months.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(milliseconds: u64) -> String {
        let mut out = Vec::new();
        super::milliseconds(milliseconds, &mut out);
        String::from_utf8(out).unwrap()
    }

    // Expected values from `date -u -d @SECONDS +%FT%T`.
    #[test]
    fn times_are_what_date_says() {
        assert_eq!(written(0), "\"1970-01-01T00:00:00.000Z\"");
        assert_eq!(written(951_782_399_999), "\"2000-02-28T23:59:59.999Z\"");
        assert_eq!(written(951_782_400_000), "\"2000-02-29T00:00:00.000Z\"");
        assert_eq!(written(1_709_251_199_007), "\"2024-02-29T23:59:59.007Z\"");
        assert_eq!(written(4_107_542_400_000), "\"2100-03-01T00:00:00.000Z\"");
        assert_eq!(
            written(u64::from(u32::MAX) * 1000),
            "\"2106-02-07T06:28:15.000Z\""
        );
        assert_eq!(written(253_402_300_799_999), "\"9999-12-31T23:59:59.999Z\"");
    }

    #[test]
    fn a_year_of_five_digits_is_null() {
        assert_eq!(written(253_402_300_800_000), "null");
        assert_eq!(written(u64::MAX), "null");
    }

    #[test]
    fn a_finer_time_has_all_its_digits() {
        let mut out = Vec::new();
        microseconds(951_782_400_000_007, &mut out);
        nanoseconds(951_782_400_120_000_089, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"2000-02-29T00:00:00.000007Z\"\"2000-02-29T00:00:00.120000089Z\""
        );
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = (1970, 1, 1);
        for day in 0..366 * 500 {
            assert_eq!(civil(day), expected, "{day}");
            let (year, month, date) = expected;
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, date == last) {
                (_, false) => (year, month, date + 1),
                (12, true) => (year + 1, 1, 1),
                (_, true) => (year, month + 1, 1),
            };
        }
    }
}
