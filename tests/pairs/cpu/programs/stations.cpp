// Reads stations from JSON and adds up their measurements.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

using nlohmann::json;

static double total(json station)
{
    double sum = 0;
    for (auto measurement : station["measurements"])
        sum += measurement["value"].get<double>();
    return sum;
}

int main(int argc, char **argv)
{
    std::ifstream file(argv[argc - 1]);
    json stations = json::parse(file);
    double sum = 0;
    for (int turn = 0; turn < 10; turn++)
        for (auto &station : stations)
            sum += total(station);
    std::cout << stations.size() << " stations " << sum << "\n";
}
