/// Single arguments of a kernel command line: split at white space outside double quotes.
pub fn split_arguments(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    for character in line.chars() {
        if character == '"' {
            quoted = !quoted;
        }
        if character.is_ascii_whitespace() && !quoted {
            if !current.is_empty() {
                found.push(std::mem::take(&mut current));
            }
        } else {
            current.push(character);
        }
    }
    if !current.is_empty() {
        found.push(current);
    }
    found
}

/// Deletes each of `delete` once if present, then appends all of `append`; keeps the order.
pub fn change_arguments(current: &[String], delete: &[String], append: &[String]) -> Vec<String> {
    let mut result = current.to_vec();
    for argument in delete {
        if let Some(place) = result.iter().position(|present| present == argument) {
            result.remove(place);
        }
    }
    result.extend(append.iter().cloned());
    result
}

/// Without `ostree=`, which names the deployment; libostree writes it.
pub(crate) fn without_ostree(arguments: Vec<String>) -> Vec<String> {
    arguments
        .into_iter()
        .filter(|argument| !argument.starts_with("ostree="))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(line: &str) -> Vec<String> {
        split_arguments(line)
    }

    #[test]
    fn splits_outside_quotes() {
        assert_eq!(list(" a  b=\"c d\" e "), ["a", "b=\"c d\"", "e"]);
    }

    #[test]
    fn deletes_each_once_then_appends() {
        let result = change_arguments(&list("ro a b a"), &list("a gone b"), &list("b c"));
        assert_eq!(result, ["ro", "a", "b", "c"]);
    }
}
