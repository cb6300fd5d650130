#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace pergola::test {

/// As much of JSON as the golden files need (no \u escapes, no checks beyond what reading asks for).
struct Json {
    enum class Kind { Null, Bool, Number, Text, List, Object } kind = Kind::Null;
    double number = 0;
    std::string text;
    std::vector<Json> list;
    std::map<std::string, Json> object;

    const Json& operator[](const std::string& key) const { return object.at(key); }
    std::vector<int64_t> ids() const {
        std::vector<int64_t> result;
        for (const Json& one : list) result.push_back(static_cast<int64_t>(one.number));
        return result;
    }
};

class JsonReader {
public:
    explicit JsonReader(std::string text) : text_(std::move(text)) {}

    Json read() {
        skip_space();
        Json value;
        const char first = peek();
        if (first == '{') {
            value.kind = Json::Kind::Object;
            items('}', [&] {
                const std::string key = read_text();
                skip_space();
                expect(':');
                value.object[key] = read();
            });
        } else if (first == '[') {
            value.kind = Json::Kind::List;
            items(']', [&] { value.list.push_back(read()); });
        } else if (first == '"') {
            value.kind = Json::Kind::Text;
            value.text = read_text();
        } else if (first == '-' || std::isdigit(static_cast<unsigned char>(first))) {
            char* end = nullptr;
            value.kind = Json::Kind::Number;
            value.number = std::strtod(text_.c_str() + at_, &end);
            at_ = static_cast<size_t>(end - text_.c_str());
        } else {
            const size_t begin = at_;
            while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) ++at_;
            const std::string word = text_.substr(begin, at_ - begin);
            if (word != "null" && word != "true" && word != "false") throw std::runtime_error("JSON: unexpected text at " + std::to_string(begin));
            if (word != "null") value.kind = Json::Kind::Bool;
            value.number = word == "true";
        }
        return value;
    }

private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_space() {
        while (std::isspace(static_cast<unsigned char>(peek()))) ++at_;
    }
    void expect(char c) {
        if (peek() != c) throw std::runtime_error(std::string("JSON: expected ") + c + " at " + std::to_string(at_));
        ++at_;
    }
    template <typename Item>
    void items(char end, Item item) {
        for (++at_, skip_space(); peek() != end;) {
            item();
            skip_space();
            if (peek() != ',') break;
            ++at_;
            skip_space();
        }
        expect(end);
    }
    std::string read_text() {
        std::string result;
        for (expect('"'); peek() != '"'; ++at_) {
            if (at_ >= text_.size()) throw std::runtime_error("JSON: text without end");
            if (text_[at_] != '\\') result += text_[at_];
            else if (text_[++at_] == 'n') result += '\n';
            else if (text_[at_] == 't') result += '\t';
            else result += text_[at_];
        }
        ++at_;
        return result;
    }

    std::string text_;
    size_t at_ = 0;
};

}  // namespace pergola::test
